package grpcxds

import (
	"fmt"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/grpcxds/internal/routing"
	"github.com/xdsforge/xdsforge/grpcxds/internal/xdsconfig"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// A builder makes the resolvers of one channel, one after the other: a channel that
// becomes idle closes its resolver.
type builder struct {
	*dialing
	channel *routing.Channel
	alone   bool // the channel has no interceptors

	mu   sync.Mutex
	busy bool // a resolver is open
}

// Scheme implements [resolver.Builder].
func (*builder) Scheme() string { return "xds" }

// Build implements [resolver.Builder].
func (b *builder) Build(t resolver.Target, cc resolver.ClientConn, o resolver.BuildOptions) (resolver.Resolver, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.busy {
		return nil, routing.ErrInUse
	}
	r := &xdsResolver{builder: b, cc: cc}
	if err := r.start(t, o); err != nil {
		b.channel.Fail(err)
		return nil, err
	}
	b.busy = true
	return r, nil
}

// An xdsResolver gives a channel its configurations.
type xdsResolver struct {
	*builder
	cc       resolver.ClientConn
	pool     *Pool
	scope    *scope
	watcher  *xdsconfig.Watcher
	settings routing.Settings
	state    resolver.State // what all configurations have in common
	told     bool           // the LB policy has had one
	latest   atomic.Pointer[xdsconfig.State]
	table    *routing.Table // that the calls have; nil: none
}

func (r *xdsResolver) start(t resolver.Target, o resolver.BuildOptions) (err error) {
	target := t.URL.String()
	if o.DisableServiceConfig {
		return fmt.Errorf("grpcxds: target %q: grpc.WithDisableServiceConfig keeps the LB policy from being set", target)
	}
	r.state.ServiceConfig = r.cc.ParseServiceConfig(serviceConfig)
	if err := r.state.ServiceConfig.Err; err != nil {
		return fmt.Errorf("grpcxds: target %q: %w", target, err)
	}
	if r.pool, err = r.own(); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			r.closePool()
		}
	}()
	name, err := listenerFor(r.pool, target)
	if err != nil {
		return err
	}
	if r.scope, err = r.pool.acquire(target); err != nil {
		return err
	}
	r.settings = routing.Settings{
		Filters: r.pool.chains, NodeID: r.pool.config.Node().GetId(),
		Where: fmt.Sprintf("grpcxds: target %q, authority %q", target, o.Authority),
	}
	r.watcher = xdsconfig.New(r.scope, xdsconfig.Options{
		Listener: name.String(), Authority: o.Authority, NodeID: r.settings.NodeID, Deliver: r.deliver,
		Servers: r.pool.config.ServersFor,
	})
	r.channel.Explain(func() error {
		if err := r.watcher.Pending(); err != nil {
			return fmt.Errorf("%s: %w", r.settings.Where, err)
		}
		return nil
	})
	r.channel.Bind(r.watcher)
	r.watcher.Start()
	return nil
}

// deliver gives the channel a configuration: first to the LB policy, then to the calls, so
// that they are not routed to clusters that it does not know (gRFC A31).
func (r *xdsResolver) deliver(c *xdsconfig.Config, err error) {
	if err != nil {
		err = fmt.Errorf("%s: %w", r.settings.Where, err)
	}
	table := r.table
	switch {
	case err != nil:
		table = nil
	case !table.IsFor(c): // else only clusters are new
		table = r.channel.Compile(c, r.settings)
	}
	if err == nil || r.told {
		state := r.state
		newest := r.policyState(c, table, err)
		r.latest.Store(newest)
		state.Attributes = xdsconfig.With(nil, newest)
		if failed := r.cc.UpdateState(state); failed != nil {
			r.pool.logger.Warn("the LB policy rejected its configuration", "target", r.settings.Where, "error", printable.Error(failed))
		}
		r.told = true
	}
	if err != nil {
		r.cc.ReportError(err)
	}
	if table == nil || table != r.table {
		r.channel.Set(table, err)
	}
	r.table = table
}

// policyState is what the LB policy is told. Without a table, the error says why.
func (r *xdsResolver) policyState(c *xdsconfig.Config, t *routing.Table, err error) *xdsconfig.State {
	s := &xdsconfig.State{
		Config: c, Latest: &r.latest, Where: r.settings.Where, Holder: r.watcher, Loads: r.scope.Client, Bootstrap: r.pool.config,
		Breakers: &r.pool.breakers, TLS: r.pool.providers, Logger: r.pool.logger,
		Connect: !r.told && !r.channel.Waiting(),
	}
	switch {
	case r.alone && t != nil:
		s.Route = t.Pick
	case r.alone:
		s.Route = routing.Unroutable(err)
	}
	return s
}

// ResolveNow implements [resolver.Resolver]: names of LOGICAL_DNS clusters are resolved
// again (gRFC A74).
func (r *xdsResolver) ResolveNow(resolver.ResolveNowOptions) { r.watcher.ResolveNow() }

// Close implements [resolver.Resolver].
func (r *xdsResolver) Close() {
	r.watcher.Close()
	r.channel.Bind(nil)
	r.channel.Explain(nil)
	r.channel.Set(nil, nil)
	r.scope.release()
	r.closePool()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy = false
}

// closePool closes the channel's own pool.
func (r *xdsResolver) closePool() {
	if r.pool != r.dialing.pool {
		_ = r.pool.Close() // closing cannot fail
	}
}

// RegisterResolver makes targets with the scheme xds known to all channels of the program,
// also those that somebody else dials and that have no options of this package. Of the
// given options it takes those of this package. It is to be called before any channel is
// made, as resolver.Register is, which it calls; of several resolvers for the scheme, the
// last one counts.
//
// Without the interceptors of [DialOptions], calls are routed when they are load-balanced.
// There are then no timeouts and retries by the control plane's wishes, and calls fail that
// would have to pass HTTP filters. Channels that have the interceptors miss nothing.
func RegisterResolver(opts ...grpc.DialOption) { resolver.Register(global{dialingOf(opts)}) }

// global makes the resolvers of channels that have no interceptors.
type global struct{ *dialing }

// Scheme implements [resolver.Builder].
func (global) Scheme() string { return "xds" }

// OverrideAuthority implements [resolver.AuthorityOverrider].
func (global) OverrideAuthority(t resolver.Target) string {
	return (*builder)(nil).OverrideAuthority(t)
}

// Build implements [resolver.Builder].
func (g global) Build(t resolver.Target, cc resolver.ClientConn, o resolver.BuildOptions) (resolver.Resolver, error) {
	return (&builder{dialing: g.dialing, channel: routing.NewChannel(), alone: true}).Build(t, cc, o)
}
