package serve

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	loadstatsv3 "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/adsserver"
	"github.com/xdsforge/xdsforge/internal/adsserver/adsgrpc"
	"github.com/xdsforge/xdsforge/internal/statedir"
)

// A Server serves discovery streams. [New] makes one. It is safe for concurrent use.
type Server struct {
	settings settings
	policy   *policy // nil: everything is allowed
	types    func(url string) (adsserver.Type, bool)
	accounts accounts

	mu      sync.Mutex
	main    *adsserver.Core
	views   map[string]*adsserver.Core
	refuse  error // the reason to admit no more streams, or nil
	guests  map[*guest]struct{}
	left    chan struct{} // closed and replaced when a guest leaves
	refused map[string]uint64
	health  *health.Server // nil: not registered

	healthMu sync.Mutex    // of updateHealth
	metrics  func() error  // ends the export of metrics
	state    *statedir.Dir // nil: there is none
	loads    loads
}

// New returns a server of the types in the set and their list collections. Each source has the
// authority of its key. The source of the empty key has old-style names, the empty authority, and all
// authorities without a source of their own. Close the server after use.
func New(types *resource.Set, sources map[string]source.Source, opts ...Option) (*Server, error) {
	s := &Server{
		views: make(map[string]*adsserver.Core), guests: make(map[*guest]struct{}), left: make(chan struct{}),
		refused: make(map[string]uint64), accounts: accounts{clients: make(map[string]*account)},
		metrics: func() error { return nil },
	}
	var err error
	s.settings.limits, err = Limits{}.withDefaults()
	errs := []error{err}
	for _, o := range opts {
		errs = append(errs, o(&s.settings))
	}
	if types == nil {
		errs = append(errs, errors.New("the set of types is nil"))
	}
	if len(sources) == 0 {
		errs = append(errs, errors.New("there are no sources"))
	}
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		if sources[name] == nil {
			errs = append(errs, fmt.Errorf("the source of authority %q is nil", name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	if s.settings.restricted {
		s.policy = newPolicy(s.settings.permissions, types)
	}
	s.types = s.typesOf(types)
	if sources, err = s.keep(sources); err == nil {
		err = s.connect(sources)
	}
	if err == nil {
		err = s.export()
	}
	if err != nil {
		_ = s.Close() // the error is that of the source
		return nil, fmt.Errorf("serve: %w", err)
	}
	return s, nil
}

// typesOf returns the function that describes a type.
func (s *Server) typesOf(set *resource.Set) func(url string) (adsserver.Type, bool) {
	known := adsserver.TypesOf(set)
	if !s.settings.unknown {
		return known
	}
	return func(url string) (adsserver.Type, bool) {
		if t, ok := known(url); ok {
			return t, true
		}
		return adsserver.AnyType(url)
	}
}

// connect opens a core for the sources, and one for each view.
func (s *Server) connect(sources map[string]source.Source) error {
	config := adsserver.Config{
		Source: sources[""], Authorities: make(map[string]source.Source), Limits: s.settings.limits.core(), Type: s.types,
		MaxStaleness: s.settings.staleness, AnswerTimeout: cmp.Or(s.settings.answer, defaultAnswerTimeout), Coalesce: s.settings.coalesce, RemovalPause: removalPause, State: s.changed, Rejected: s.rejected,
	}
	for name, src := range sources {
		if name != "" {
			config.Authorities[name] = src
		}
	}
	c, err := adsserver.New(config)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.main = c
	s.mu.Unlock()
	for name, src := range s.settings.views {
		config.Source = src
		c, err := adsserver.New(config)
		if err != nil {
			return fmt.Errorf("view %q: %w", name, err)
		}
		s.mu.Lock()
		s.views[name] = c
		s.mu.Unlock()
	}
	return nil
}

// rejected follows a rejection of a client.
func (s *Server) rejected(about any, r source.Rejection) {
	s.settings.journal.rejected(about.(*guest).client, r)
}

// cores returns the cores of all views, the main one first.
func (s *Server) cores() []*adsserver.Core {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*adsserver.Core
	if s.main != nil {
		list = append(list, s.main)
	}
	for _, name := range slices.Sorted(maps.Keys(s.views)) {
		list = append(list, s.views[name])
	}
	return list
}

// Register registers the aggregated discovery service, the discovery services of Envoy's types that the
// server serves, and the load reporting service if [WithLoad] is set.
func (s *Server) Register(r grpc.ServiceRegistrar) {
	adsgrpc.RegisterHost(r, host{s}, func(url string) bool {
		_, ok := s.types(url)
		return ok
	})
	if s.settings.load != nil {
		loadstatsv3.RegisterLoadReportingServiceServer(r, loadService{server: s})
	}
}

// ServerOptions returns the options of a gRPC server that sends encoded resources without a copy.
// Without them, the server works and needs more memory and time. Other services of the gRPC server are
// not affected.
func ServerOptions() []grpc.ServerOption { return adsgrpc.ServerOptions() }

// Close ends all streams, and the sessions of the sources.
func (s *Server) Close() error {
	for _, g := range s.stop(adsserver.ErrClosed) {
		g.cancel(adsserver.ErrClosed)
	}
	cores := s.cores()
	errs := make([]error, 0, 1+len(cores))
	errs = append(errs, s.metrics())
	for _, c := range cores {
		errs = append(errs, c.Close())
	}
	if s.state != nil {
		errs = append(errs, s.state.Close())
	}
	return errors.Join(errs...)
}

// stop refuses new streams, and returns the open ones.
func (s *Server) stop(reason error) []*guest {
	defer s.updateHealth()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !errors.Is(s.refuse, adsserver.ErrClosed) {
		s.refuse = reason
	}
	return slices.Collect(maps.Keys(s.guests))
}
