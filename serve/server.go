package serve

import (
	"errors"
	"fmt"
	"iter"
	"time"

	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/adsserver"
	"github.com/xdsforge/xdsforge/internal/adsserver/adsgrpc"
)

// A Server serves ADS streams. [New] makes one. It is safe for concurrent use.
type Server struct{ core *adsserver.Core }

type settings struct {
	limits  adsserver.Limits
	unknown bool
}

// An Option sets up a [Server]. New returns an error for an invalid value.
type Option func(*settings) error

// WithMaxNames sets the limit of subscriptions of a stream, of all types. A stream that exceeds it
// ends with RESOURCE_EXHAUSTED. The default is 100,000.
func WithMaxNames(n int) Option {
	return func(s *settings) error {
		if n <= 0 {
			return fmt.Errorf("WithMaxNames = %d; must be above zero", n)
		}
		s.limits.Names = n
		return nil
	}
}

// WithMaxResponseBytes sets the size from which the server divides responses of the delta protocol. A
// larger resource is sent alone. Responses in state of the world cannot be divided. The default is
// slightly less than 4 MiB, which gRPC clients accept by default.
func WithMaxResponseBytes(n int) Option {
	return func(s *settings) error {
		if n <= 0 {
			return fmt.Errorf("WithMaxResponseBytes = %d; must be above zero", n)
		}
		s.limits.ResponseBytes = n
		return nil
	}
}

// WithUnknownTypes serves resources of types that the set lacks. Their state-of-the-world responses
// use the wrapper envoy.service.discovery.v3.Resource. Without it, the server does not answer requests
// for such types.
func WithUnknownTypes() Option {
	return func(s *settings) error { s.unknown = true; return nil }
}

// New returns a server of the types in the set and their list collections. Each source has the
// authority of its key. The source of the empty key has old-style names, the empty authority, and all
// authorities without a source of their own. Close the server after use.
func New(types *resource.Set, sources map[string]source.Source, opts ...Option) (*Server, error) {
	var s settings
	var errs []error
	for _, o := range opts {
		errs = append(errs, o(&s))
	}
	if types == nil {
		errs = append(errs, errors.New("the set of types is nil"))
	}
	if len(sources) == 0 {
		errs = append(errs, errors.New("there are no sources"))
	}
	for name, src := range sources {
		if src == nil {
			errs = append(errs, fmt.Errorf("the source of authority %q is nil", name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	config := adsserver.Config{Source: sources[""], Authorities: make(map[string]source.Source), Limits: s.limits, Type: adsserver.TypesOf(types)}
	for name, src := range sources {
		if name != "" {
			config.Authorities[name] = src
		}
	}
	if s.unknown {
		known := config.Type
		config.Type = func(url string) (adsserver.Type, bool) {
			if t, ok := known(url); ok {
				return t, true
			}
			return adsserver.AnyType(url)
		}
	}
	core, err := adsserver.New(config)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	return &Server{core}, nil
}

// Register registers the aggregated discovery service.
func (s *Server) Register(r grpc.ServiceRegistrar) { adsgrpc.Register(r, s.core) }

// ServerOptions returns the options of a gRPC server that sends encoded resources without a copy.
// Without them, the server works and needs more memory and time. Other services of the gRPC server are
// not affected.
func ServerOptions() []grpc.ServerOption { return adsgrpc.ServerOptions() }

// Close ends all streams, and the sessions of the sources.
func (s *Server) Close() error { return s.core.Close() }

// A Client is the state of one stream.
type Client struct {
	Node  string // id of the client's node. A client is not trusted: escape it before printing.
	Since time.Time
	Delta bool
	Types []ClientType // in the order in which they are sent
}

// A ClientType is the state of one type on a stream.
type ClientType struct {
	URL       string
	Names     int    // subscriptions
	Sent      uint64 // responses
	Accepted  uint64 // the last response that the client accepted, counted over all types from 1; 0: none
	Rejected  int    // responses that the client rejected
	Reason    string // of the last rejection, by the client: escape it before printing
	UpToDate  bool   // the client has accepted the newest resources
	Responded uint64 // the last response, counted like Accepted
}

// Clients yields the open streams, the oldest first.
func (s *Server) Clients() iter.Seq[Client] {
	return func(yield func(Client) bool) {
		for _, c := range s.core.Clients() {
			out := Client{Node: c.Node, Since: c.Since, Delta: c.Delta, Types: make([]ClientType, 0, len(c.Types))}
			for _, t := range c.Types {
				out.Types = append(out.Types, ClientType(t))
			}
			if !yield(out) {
				return
			}
		}
	}
}
