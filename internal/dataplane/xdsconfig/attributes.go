package xdsconfig

import (
	"context"
	"log/slog"
	"sync/atomic"

	"google.golang.org/grpc/attributes"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/load"
	"github.com/xdsforge/xdsforge/internal/dataplane/breaker"
	"github.com/xdsforge/xdsforge/internal/dataplane/rpcinfo"
	"github.com/xdsforge/xdsforge/internal/dataplane/security"
)

// A State has the newest configuration and everything else that the resolver gives to LB policies.
type State struct {
	Config *Config
	// Latest holds the newest state of the channel. Some policies start a child with the
	// resolver.State of an earlier update: rls_experimental ignores updates while it has no child.
	// Nil means that this state is the newest.
	Latest *atomic.Pointer[State]
	// Where prefixes errors: the target and its data-plane authority.
	Where string
	// Connect asks the channel to connect before the first call. It is set if something other than
	// a call has brought the channel out of idleness.
	Connect bool
	// Route routes calls in the picker, if they have no Call of package rpcinfo because their
	// channel has only the resolver of this module. It uses Config. The caller calls release when
	// the call has ended or was not sent. Nil means that there are no such calls.
	Route func(ctx context.Context, method string) (call *rpcinfo.Call, release func(), err error)
	// Holder keeps clusters in later configurations.
	Holder Holder
	// Loads counts load. Nil disables load reports.
	Loads Loads
	// Bootstrap has the servers that LB policies may name (gRFC A47).
	Bootstrap *bootstrap.Config
	// Breakers count the calls in flight. Other channels may share them (gRFC A32). Nil: they are
	// not shared.
	Breakers *breaker.Set
	// TLS secures connections as clusters configure it (gRFC A29). Nil: connections use the
	// channel's credentials.
	TLS *security.Providers
	// RingSizeCap is the limit of ring entries (gRFC A42); 0: 4096.
	RingSizeCap uint64
	// Logger logs events that no call reports. Nil discards them.
	Logger *slog.Logger
}

// A Holder keeps clusters in the configuration that no route names (gRFC A74's dynamic
// subscriptions). It is safe for concurrent use.
type Holder interface {
	// Hold keeps the named cluster in later configurations, until release is called. The newest
	// configuration does not have the cluster if it did not have it before. Configurations do not
	// wait for the cluster.
	Hold(name string) (release func())
}

// Loads counts the load of calls to a cluster. A *client.Client implements it.
type Loads interface {
	// LoadStore returns the store of the load that is reported to a server. It returns an error for
	// a server that is not in the bootstrap (gRFC A47).
	LoadStore(server *bootstrap.Server) (*load.Store, error)
}

type stateKey struct{}

// With adds a state to the attributes of a resolver.State.
func With(a *attributes.Attributes, s *State) *attributes.Attributes {
	return a.WithValue(stateKey{}, s)
}

// From returns the newest state of the channel whose state [With] added, or nil if there is none.
func From(a *attributes.Attributes) *State {
	s, _ := a.Value(stateKey{}).(*State)
	if s != nil && s.Latest != nil {
		return s.Latest.Load()
	}
	return s
}
