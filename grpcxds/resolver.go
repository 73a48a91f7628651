package grpcxds

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/grpcxds/internal/routing"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	"github.com/xdsforge/xdsforge/internal/environment"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// A builder makes the resolvers of one channel, one at a time. A channel that becomes idle closes its resolver and
// builds another one later.
type builder struct {
	*source
	logger  *slog.Logger
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

// An xdsResolver delivers configurations to a channel.
type xdsResolver struct {
	*builder
	cc       resolver.ClientConn
	env      *opened // scope keeps it open
	logger   *slog.Logger
	scope    *environment.Scope
	watcher  *xdsconfig.Watcher
	settings routing.Settings
	state    resolver.State // the common part of all configurations
	told     bool           // the LB policy has received a configuration
	latest   atomic.Pointer[lbtree.State]
	table    *routing.Table // the table that calls use; nil: none
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
	if r.env, err = r.open(); err != nil {
		return err
	}
	defer r.env.Release()
	r.logger = r.env.logger(r.builder.logger)
	name, err := listenerFor(r.env.Config(), target)
	if err != nil {
		return err
	}
	if r.scope, err = r.env.acquire(target); err != nil {
		return err
	}
	r.settings = routing.Settings{
		Filters: r.env.chains, NodeID: r.env.Config().Node().GetId(),
		Where: fmt.Sprintf("grpcxds: target %q, authority %q", target, o.Authority),
	}
	r.watcher = xdsconfig.New(r.scope.Client, xdsconfig.Options{
		Listener: name.String(), Authority: o.Authority, NodeID: r.settings.NodeID, Deliver: r.deliver,
		Servers: r.env.Config().ServersFor,
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

// deliver delivers a configuration first to the LB policy, then to the calls. This order prevents routing calls to
// clusters that the LB policy does not know (gRFC A31).
func (r *xdsResolver) deliver(c *xdsconfig.Config, err error) {
	if err != nil {
		err = fmt.Errorf("%s: %w", r.settings.Where, err)
	}
	table := r.table
	switch {
	case err != nil:
		table = nil
	case !table.IsFor(c): // otherwise only clusters changed
		table = r.channel.Compile(c, r.settings)
	}
	if err == nil || r.told {
		state := r.state
		newest := r.policyState(c, table, err)
		r.latest.Store(newest)
		state.Attributes = lbtree.WithState(nil, newest)
		if failed := r.cc.UpdateState(state); failed != nil {
			r.logger.Warn("the LB policy rejected its configuration", "target", r.settings.Where, "error", printable.Error(failed))
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

// policyState returns the state for the LB policy. Without a table, err is the reason.
func (r *xdsResolver) policyState(c *xdsconfig.Config, t *routing.Table, err error) *lbtree.State {
	s := &lbtree.State{
		Config: c, Latest: &r.latest, Where: r.settings.Where, Subscriber: r.watcher, Loads: r.scope.Client, Bootstrap: r.env.Config(),
		Breakers: &r.env.breakers, TLS: r.env.providers, Logger: r.logger,
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

// ResolveNow implements [resolver.Resolver]. It resolves the names of LOGICAL_DNS clusters again (gRFC A74).
func (r *xdsResolver) ResolveNow(resolver.ResolveNowOptions) { r.watcher.ResolveNow() }

// Close implements [resolver.Resolver].
func (r *xdsResolver) Close() {
	r.watcher.Close()
	r.channel.Bind(nil)
	r.channel.Explain(nil)
	r.channel.Set(nil, nil)
	_ = r.scope.Release() // closing a client cannot fail
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy = false
}
