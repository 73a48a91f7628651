package grpcxds

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"

	"github.com/xdsforge/xdsforge/grpcxds/internal/routing"
	"github.com/xdsforge/xdsforge/internal/dataplane/balancer/clustermanager"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/targetstatus"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	"github.com/xdsforge/xdsforge/internal/environment"
	"github.com/xdsforge/xdsforge/internal/printable"
	"github.com/xdsforge/xdsforge/plugins/cluster"
)

// A builder makes the resolvers of one channel, one at a time. A channel that becomes idle closes its resolver and
// builds another one later.
type builder struct {
	*source
	logger       *slog.Logger
	interceptors *routing.Interceptors
	resolverOnly bool // the channel does not have the interceptors

	mu    sync.Mutex
	inUse bool // a resolver is open
}

// Scheme implements [resolver.Builder].
func (*builder) Scheme() string { return "xds" }

// Build implements [resolver.Builder].
func (b *builder) Build(t resolver.Target, cc resolver.ClientConn, o resolver.BuildOptions) (resolver.Resolver, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.inUse {
		return nil, routing.ErrInUse
	}
	r := &xdsResolver{builder: b, cc: cc}
	if err := r.start(t, o); err != nil {
		b.interceptors.Fail(err)
		return nil, err
	}
	b.inUse = true
	return r, nil
}

// An xdsResolver delivers configurations to a channel.
type xdsResolver struct {
	*builder
	cc        resolver.ClientConn
	env       *opened // scope keeps it open
	logger    *slog.Logger
	scope     *environment.Scope
	watcher   *xdsconfig.Watcher
	settings  routing.Settings
	state     resolver.State             // the common part of all configurations
	retries   *serviceconfig.ParseResult // the service config of the table; has a retry policy if gRPC retries its calls
	delivered bool                       // the LB policy has received a configuration
	latest    atomic.Pointer[lbtree.State]
	table     *routing.Table // the table that calls use; nil: none
	trees     lbtree.Trees
	target    targetstatus.Target
	unlist    func() // from the targets of the Env
}

func (r *xdsResolver) start(t resolver.Target, o resolver.BuildOptions) (err error) {
	target := t.URL.String()
	if o.DisableServiceConfig {
		return fmt.Errorf("grpcxds: target %q: grpc.WithDisableServiceConfig keeps the LB policy from being set", target)
	}
	r.state.ServiceConfig = r.cc.ParseServiceConfig(clustermanager.ServiceConfig)
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
	host := r.env.host(r.service)
	host.Target, host.Logger, host.Cluster = target, r.logger, r.cluster
	r.settings = routing.Settings{
		Filters: r.env.chains, NodeID: r.env.Config().Node().GetId(),
		Host:    host,
		Metrics: r.env.Calls(target),
		Where:   fmt.Sprintf("grpcxds: target %q, authority %q", target, o.Authority),
	}
	r.watcher = xdsconfig.New(r.scope.Client, xdsconfig.Options{
		Listener: name.String(), Authority: o.Authority, NodeID: r.settings.NodeID, Deliver: r.deliver,
		Servers: r.env.Config().ServersFor,
	})
	r.interceptors.Explain(func() error {
		if err := r.watcher.Pending(); err != nil {
			return fmt.Errorf("%s: %w", r.settings.Where, err)
		}
		return nil
	})
	logger := r.logger // r would keep the resources after Close: the channel keeps its interceptors
	r.interceptors.Misplaced(func() {
		logger.Warn("the OpenTelemetry plugin comes after the options of grpcxds and counts each attempt as a call", "target", target)
	})
	r.interceptors.SetSubscriber(r.watcher)
	r.target.Name, r.target.Authority = target, o.Authority
	r.unlist = r.env.AddTarget(r.describe)
	r.watcher.Start()
	return nil
}

// deliver delivers a configuration first to the LB policy, then to the calls. This order prevents routing calls to
// clusters that the LB policy does not know (gRFC A31).
func (r *xdsResolver) deliver(c *xdsconfig.Config, err error) {
	if err != nil {
		err = fmt.Errorf("%s: %w", r.settings.Where, err)
	}
	r.target.Delivered(c, err)
	table := r.table
	switch {
	case err != nil:
		table = nil
	case !table.IsFor(c): // otherwise only clusters changed
		table = r.interceptors.Compile(c, r.settings)
	}
	if err == nil || r.delivered {
		state := r.state
		state.ServiceConfig = r.serviceConfig(table)
		newest := r.policyState(c, table, err)
		r.latest.Store(newest)
		state.Attributes = lbtree.WithState(nil, newest)
		if failed := r.cc.UpdateState(state); failed != nil {
			r.target.Rejected(failed)
			r.logger.Warn("the LB policy rejected its configuration", "target", r.settings.Where, "error", printable.Error(failed))
		}
		if state.ServiceConfig == r.state.ServiceConfig {
			r.interceptors.RetryHere()
		}
		r.delivered = true
	}
	if err != nil {
		r.cc.ReportError(err)
	}
	if table == nil || table != r.table {
		r.interceptors.Set(table, err)
	}
	r.table = table
}

// serviceConfig returns the service config of a table, or of none. If possible, it has the retry policy of the table, so
// that gRPC retries the calls. With metrics, the interceptors retry, because gRPC does not record the metrics of retries
// (gRFC A96).
func (r *xdsResolver) serviceConfig(t *routing.Table) *serviceconfig.ParseResult {
	switch t {
	case nil:
		return r.state.ServiceConfig
	case r.table:
		return r.retries
	}
	r.retries = r.state.ServiceConfig
	if r.resolverOnly || r.settings.Metrics != nil {
		return r.retries
	}
	if method := r.interceptors.RetryNatively(t); method != "" {
		r.retries = r.cc.ParseServiceConfig(strings.TrimSuffix(clustermanager.ServiceConfig, "}") + `,"methodConfig":[` + method + `]}`)
	}
	return r.retries
}

// cluster returns the newest resource of a cluster, for filters.
func (r *xdsResolver) cluster(name string) (*cluster.Update, error) {
	return r.latest.Load().Cluster(name)
}

// policyState returns the state for the LB policy. Without a table, err is the reason.
func (r *xdsResolver) policyState(c *xdsconfig.Config, t *routing.Table, err error) *lbtree.State {
	s := &lbtree.State{
		Config: c, Latest: &r.latest, Where: r.settings.Where, Subscriber: r.watcher, Loads: r.scope.Client, Bootstrap: r.env.Config(),
		Breakers: &r.env.Breakers, TLS: r.env.Providers, Logger: r.logger, Trees: &r.trees, Metrics: r.settings.Metrics,
		Connect: !r.delivered, Waiting: r.interceptors.Waiting,
	}
	switch {
	case r.resolverOnly && t != nil:
		s.Route = t.Pick
	case r.resolverOnly:
		s.Route = routing.Unroutable(err)
	}
	return s
}

// ResolveNow implements [resolver.Resolver]. It resolves the names of LOGICAL_DNS clusters again (gRFC A74).
func (r *xdsResolver) ResolveNow(resolver.ResolveNowOptions) { r.watcher.ResolveNow() }

// Close implements [resolver.Resolver].
func (r *xdsResolver) Close() {
	r.unlist()
	r.watcher.Close()
	r.interceptors.SetSubscriber(nil)
	r.interceptors.Explain(nil)
	r.interceptors.Set(nil, nil)
	_ = r.scope.Release() // closing a client cannot fail
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inUse = false
}

// gRPC's registry of LB policies may only be filled by init functions. This policy has a name of its own, so that a
// program can use it beside gRPC's own xDS. The policies below it are built directly, or are registered by gRPC and
// the program.
func init() { //nolint:gochecknoinits // gRPC offers no other way
	clustermanager.Register()
}
