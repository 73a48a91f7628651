package xdsconfig

import (
	"context"
	"log/slog"
	"sync/atomic"

	"google.golang.org/grpc/attributes"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/load"
	"github.com/xdsforge/xdsforge/grpcxds/internal/balancer/breaker"
	"github.com/xdsforge/xdsforge/grpcxds/internal/rpcinfo"
	"github.com/xdsforge/xdsforge/grpcxds/internal/security"
)

// A State is what the resolver gives LB policies: the newest configuration, and what they
// reach beyond it.
type State struct {
	Config *Config
	// Latest holds the newest state of the channel, for policies that begin a child with the
	// resolver.State of an earlier update: rls_experimental ignores updates as long as it has
	// no child. Nil: this state is the newest.
	Latest *atomic.Pointer[State]
	// Where says whose errors they are: the target and its data-plane authority.
	Where string
	// Connect says that the channel is to connect before there is a call: somebody who is not
	// a call has brought it out of idleness.
	Connect bool
	// Route routes calls that come to a picker without package rpcinfo's Call, since nothing
	// but the resolver of this module is in their channel. Whoever picks calls release when
	// the call is over, or was not sent. It goes by Config. Nil: there
	// are no such calls.
	Route func(ctx context.Context, method string) (call *rpcinfo.Call, release func(), err error)
	// Holder keeps clusters in the configurations to come.
	Holder Holder
	// Loads is where load is counted; nil: nowhere.
	Loads Loads
	// Bootstrap has the servers that LB policies may name (gRFC A47).
	Bootstrap *bootstrap.Config
	// Breakers count the calls in flight, together with other channels (gRFC A32); nil: with
	// none.
	Breakers *breaker.Set
	// TLS secures connections as clusters say (gRFC A29); nil: the channel's credentials do.
	TLS *security.Providers
	// RingSizeCap is the most entries that rings may have (gRFC A42); 0: 4096.
	RingSizeCap uint64
	// Logger hears of what is no caller's concern; nil: nobody does.
	Logger *slog.Logger
}

// A Holder keeps clusters in the configuration that routes do not name (gRFC A74's dynamic
// subscriptions). It may be used from any goroutine.
type Holder interface {
	// Hold has the named cluster in the configurations from some time on, until release
	// is called. It is not in the newest one if it was not before; the configuration does
	// not wait for it.
	Hold(name string) (release func())
}

// Loads is where the load that calls put on a cluster is counted; a *client.Client is one.
type Loads interface {
	// LoadStore returns what is reported to a server. It fails for a server that is not in
	// the bootstrap (gRFC A47).
	LoadStore(server *bootstrap.Server) (*load.Store, error)
}

type stateKey struct{}

// With adds a state to the attributes of a resolver.State.
func With(a *attributes.Attributes, s *State) *attributes.Attributes {
	return a.WithValue(stateKey{}, s)
}

// From returns the newest state of the channel whose state [With] added; nil: it added none.
func From(a *attributes.Attributes) *State {
	s, _ := a.Value(stateKey{}).(*State)
	if s != nil && s.Latest != nil {
		return s.Latest.Load()
	}
	return s
}
