package lbtree

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/metadata"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/load"
	"github.com/xdsforge/xdsforge/internal/dataplane/breaker"
	"github.com/xdsforge/xdsforge/internal/dataplane/security"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	"github.com/xdsforge/xdsforge/internal/telemetry"
	"github.com/xdsforge/xdsforge/plugins/cluster"
)

// A State has the newest configuration and everything else that the resolver passes to the tree.
type State struct {
	Config *xdsconfig.Config
	// Latest holds the newest state of the channel. Some policies start a child with the
	// resolver.State of an earlier update: rls_experimental ignores updates while it has no child.
	// Nil means that this state is the newest.
	Latest *atomic.Pointer[State]
	// Where prefixes errors: the target and its data-plane authority.
	Where string
	// Connect asks the channel to connect before the first call, because this is the first state since the
	// channel left idleness.
	Connect bool
	// Waiting reports whether calls that have waited for a state have not ended. Such calls create the
	// children of their clusters, so the channel must not create another child in order to connect. If
	// Waiting returns true, it calls over when the last of these calls has ended: they may have created
	// none. Nil means that there are no such calls. It is safe for concurrent use.
	Waiting func(over func()) bool
	// Route routes calls in the picker, if their context has no Call because their channel has only
	// the resolver of this module. It uses Config. The caller calls release when the call has ended
	// or was not sent. Nil means that there are no such calls.
	Route func(ctx context.Context, method string) (call *Call, release func(), err error)
	// Subscriber keeps clusters in later configurations.
	Subscriber Subscriber
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
	// Metrics records metrics of the target. Nil records none.
	Metrics *telemetry.Target
	// Logger logs events that no call reports. Nil discards them.
	Logger *slog.Logger
	// Trees gets the trees that use the state. Nil: nobody reads them.
	Trees *Trees
}

// Cluster returns the resource of a cluster, or the reason why there is none. A nil State has no cluster.
func (s *State) Cluster(name string) (*cluster.Update, error) {
	if s == nil || s.Config == nil {
		return nil, errors.New("there is no configuration")
	}
	c, ok := s.Config.Clusters[name]
	switch {
	case !ok:
		return nil, errors.New("the configuration does not have it")
	case c.Err != nil:
		return nil, c.Err
	}
	return c.Update, nil
}

// A Subscriber keeps clusters in the configuration that no route names (gRFC A74's dynamic
// subscriptions). A *xdsconfig.Watcher implements it. It is safe for concurrent use.
type Subscriber interface {
	// Subscribe keeps the named cluster in later configurations, until unsubscribe is called. The
	// newest configuration does not have the cluster if it did not have it before. Configurations
	// do not wait for the cluster.
	Subscribe(cluster string) (unsubscribe func())
}

// Loads counts the load of calls to a cluster. A *client.Client implements it.
type Loads interface {
	// LoadStore returns the store of the load that is reported to a server. It returns an error for
	// a server that is not in the bootstrap (gRFC A47).
	LoadStore(server *bootstrap.Server) (*load.Store, error)
}

type stateKey struct{}

// WithState adds a state to the attributes of a resolver.State.
func WithState(a *attributes.Attributes, s *State) *attributes.Attributes {
	return a.WithValue(stateKey{}, s)
}

// StateOf returns the newest state of the channel whose state [WithState] added, or nil if there is
// none.
func StateOf(a *attributes.Attributes) *State {
	s, _ := a.Value(stateKey{}).(*State)
	if s != nil && s.Latest != nil {
		return s.Latest.Load()
	}
	return s
}

// A Call has the routing decisions of a call. Pickers see only the call's context, which carries
// it. The starter of the call owns it, and must not change it while a picker may still read it.
type Call struct {
	// Cluster selects the child of the top policy: the name of a cluster as routes write it, or the
	// key of a cluster specifier plugin (gRFC A28).
	Cluster string
	// Hash places the call on a ring, if HasHash is true (gRFC A42).
	Hash    uint64
	HasHash bool
	// AutoHostRewrite sets the call's authority to the hostname of the endpoint. The route asks for
	// it, and comes from a trusted server (gRFC A81).
	AutoHostRewrite bool
	// Authority has the call's authority as metadata, if the route rewrites it (gRFC A111). Else it is nil. It is
	// immutable.
	Authority metadata.MD
	// Clusters are the clusters of the call's route. A filter may choose another one of them (gRFC A60). It is nil if a
	// plugin chooses the cluster.
	Clusters []string
	// Attempts, if not nil, learns when load balancing begins for an attempt of the call.
	Attempts Attempts
	// Affinity binds the call to the endpoint of its session (gRFC A55). Nil: the call has no session.
	Affinity *Affinity
}

// Attempts are the attempts of a call, if not gRPC makes them.
type Attempts interface {
	// Picking is called when a picker sees the current attempt, maybe repeatedly. By then, gRPC has read its service
	// config for the attempt.
	Picking()
}

type callKey struct{}

// WithCall returns a context that carries c to the pickers.
func WithCall(ctx context.Context, c *Call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// A CallContext carries a Call to the pickers, as the result of [WithCall] does. It can be a part of another value.
type CallContext struct {
	context.Context //nolint:containedctx // it is a context
	Call            *Call
}

// With sets the parts, and returns the context.
func (c *CallContext) With(ctx context.Context, call *Call) context.Context {
	c.Context, c.Call = ctx, call
	return c
}

// Value implements [context.Context].
func (c *CallContext) Value(key any) any {
	if key == (callKey{}) {
		return c.Call
	}
	return c.Context.Value(key)
}

// CallOf returns the Call of a context from [WithCall], or of a [CallContext]. It is nil if there is none.
func CallOf(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}
