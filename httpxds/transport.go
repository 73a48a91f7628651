package httpxds

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/status/dataplane"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/httpxds/httpfilter"
	"github.com/xdsforge/xdsforge/httpxds/internal/pool"
	"github.com/xdsforge/xdsforge/internal/dataplane/balancer/clustermanager"
	"github.com/xdsforge/xdsforge/internal/dataplane/filters"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/routes"
	"github.com/xdsforge/xdsforge/internal/dataplane/targetstatus"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	"github.com/xdsforge/xdsforge/internal/environment"
	"github.com/xdsforge/xdsforge/internal/printable"
	"github.com/xdsforge/xdsforge/internal/telemetry"
	"github.com/xdsforge/xdsforge/plugins/listener"
)

// A Transport sends the requests of one target. It is an [http.RoundTripper], and safe for concurrent use. Close it after
// use.
type Transport struct {
	id       uint64 // the hash of requests for policies that hash by channel
	target   string
	where    string // prefixes errors
	settings *settings
	env      *opened
	scope    *environment.Scope
	share    *share
	// instances has the HTTP filters in use.
	instances filters.Holder[httpfilter.ClientInstance]
	watcher   *xdsconfig.Watcher
	tree      *pool.Tree
	lb        balancer.Balancer
	logger    *slog.Logger
	metrics   *telemetry.Target // nil: none
	refs      routes.Refs
	trees     lbtree.Trees
	state     atomic.Pointer[state]
	limits    timeLimits
	latest    atomic.Pointer[lbtree.State]
	served    bool // the LB tree has a configuration; the watcher's goroutine owns it
	status    targetstatus.Target
	unlist    func() // from the targets of the Env
	close     func()
}

var _ http.RoundTripper = (*Transport)(nil)

// A state is a route table, the reason why there is none, or neither at the start.
type state struct {
	table *table
	err   error
	over  chan struct{} // closed when another state replaces it
}

// NewTransport returns a Transport for a target such as "xds:///checkout" or "xds://east.example/checkout", in each form of
// gRFC A47. It takes routes, clusters and endpoints from control planes, and connects to a cluster when the first request is
// sent to it. It does not wait for the control plane: requests do.
//
// It returns an error if the target is invalid, if the bootstrap is missing or invalid or lacks the authority of the target,
// or if the Env is closed.
func NewTransport(target string, opts ...Option) (*Transport, error) {
	s, err := newSettings(opts)
	if err != nil {
		return nil, err
	}
	e, err := open(s.env)
	if err != nil {
		return nil, err
	}
	defer e.Release() // the scope has a reference
	t, err := newTransport(e, target, s)
	if err != nil {
		return nil, fmt.Errorf("httpxds: target %q: %w", target, err)
	}
	return t, nil
}

func newTransport(e *opened, target string, s *settings) (*Transport, error) {
	name, err := e.Config().ClientListenerName(target)
	if err != nil {
		return nil, err
	}
	if err := name.CheckType(listener.Type().Name()); err != nil {
		return nil, fmt.Errorf("the bootstrap's template makes the name %q: %w", name, err)
	}
	if _, err := e.Config().ServersFor(name); err != nil {
		return nil, err
	}
	u, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	authority := cmp.Or(s.authority, authorityOf(u))
	share, err := e.share(resource.ClientSide)
	if err != nil {
		return nil, err
	}
	scope, err := e.Acquire(scopePrefix+target, share.types, xdsconfig.ClientFeatures(share.types)...)
	if err != nil {
		return nil, err
	}
	t := &Transport{
		id:     rand.Uint64(),
		target: target, where: fmt.Sprintf("target %q, authority %q", target, authority),
		settings: s, env: e, scope: scope, share: share, logger: cmp.Or(s.logger, e.Logger(), slog.Default()),
		metrics: e.Calls(target),
	}
	t.state.Store(&state{over: make(chan struct{})})
	t.tree = pool.NewTree(s.dialer(), t.resolve, t.metrics.Recorder())
	t.lb = clustermanager.New(t.tree, balancer.BuildOptions{
		Target: resolver.Target{URL: *u}, Authority: authority, DialCreds: insecure.NewCredentials(),
	})
	t.watcher = xdsconfig.New(scope.Client, xdsconfig.Options{
		Listener: name.String(), Authority: authority, AllHosts: s.requestHosts, NodeID: e.Config().Node().GetId(), Deliver: t.deliver, Servers: e.Config().ServersFor,
	})
	t.refs.Bind(t.watcher)
	t.status.Name, t.status.Authority = target, authority
	t.unlist = e.AddTarget(func(ctx context.Context) (dataplane.Target, error) {
		return t.status.Describe(ctx, t.watcher.Pending, &t.trees)
	})
	t.close = sync.OnceFunc(t.end)
	t.watcher.Start()
	return t, nil
}

// scopePrefix makes the names of the xDS clients of Transports differ from those of gRPC channels and of programs.
const scopePrefix = "#http "

// authorityOf returns the data-plane authority of a target: its whole path, escaped (gRFC A47).
func authorityOf(u *url.URL) string {
	path := u.Path
	if path == "" {
		path = u.Opaque
		if p, err := url.PathUnescape(path); err == nil {
			path = p
		}
	}
	return xdstp.EncodeAuthority(strings.TrimPrefix(path, "/"))
}

// resolve resolves the names of clusters again.
func (t *Transport) resolve() { t.watcher.ResolveNow() }

// deliver delivers a configuration first to the LB tree, then to requests. This order prevents requests to clusters that the
// LB tree does not know.
func (t *Transport) deliver(c *xdsconfig.Config, err error) {
	if err != nil {
		err = fmt.Errorf("%s: %w", t.where, err)
	}
	t.status.Delivered(c, err)
	if err == nil || t.served {
		newest := &lbtree.State{
			Config: c, Latest: &t.latest, Where: t.where, Subscriber: t.watcher, Loads: t.scope.Client, Bootstrap: t.env.Config(),
			Breakers: &t.env.Breakers, TLS: t.env.Providers, Logger: t.logger, Trees: &t.trees,
			Metrics: t.metrics,
		}
		t.latest.Store(newest)
		failed := t.lb.UpdateClientConnState(balancer.ClientConnState{ResolverState: resolver.State{Attributes: lbtree.WithState(nil, newest)}})
		if failed != nil {
			t.status.Rejected(failed)
			t.logger.Warn("the LB policy rejected its configuration", "target", t.where, "error", printable.Error(failed))
		}
		t.served = true
	}
	last := t.state.Load()
	switch {
	case err != nil:
		t.set(&state{err: err})
	case !last.table.IsFor(c): // otherwise only clusters changed
		t.set(&state{table: t.compile(c)})
	}
}

// set replaces the state.
func (t *Transport) set(next *state) {
	next.over = make(chan struct{})
	old := t.state.Swap(next)
	close(old.over)
	if old.table != nil {
		old.table.Release()
	}
}

// ready returns the newest state with a table. Requests wait for the first table or error.
func (t *Transport) ready(ctx context.Context) (*table, error) {
	for {
		s := t.state.Load()
		switch {
		case s.table != nil:
			return s.table, nil
		case s.err != nil:
			return nil, &Error{Reason: NoRoute, Err: s.err}
		}
		select {
		case <-s.over:
		case <-ctx.Done():
			return nil, t.waited(ctx)
		}
	}
}

// waited returns the error of a request whose context ended before there was a configuration.
func (t *Transport) waited(ctx context.Context) error {
	if err := t.watcher.Pending(); err != nil {
		return &Error{Reason: NoRoute, Err: fmt.Errorf("%s: %w while waiting for the configuration: %w", t.where, context.Cause(ctx), err)}
	}
	return &Error{Reason: NoRoute, Err: fmt.Errorf("%s: %w while waiting for the configuration", t.where, context.Cause(ctx))}
}

// Ready waits until a cluster of the target is connected, so that the first request need not wait. It connects one cluster if
// none is connected. It returns the error of a target that cannot be configured, or that of the context.
func (t *Transport) Ready(ctx context.Context) error {
	if _, err := t.ready(ctx); err != nil {
		return err
	}
	t.lb.ExitIdle()
	if err := t.tree.Wait(ctx, func(s connectivity.State) bool { return s == connectivity.Ready }); err != nil {
		return &Error{Reason: NoEndpoint, Err: fmt.Errorf("%s: %w", t.where, err)}
	}
	return nil
}

// CloseIdleConnections closes the connections without requests, except for one to each endpoint.
// [http.Client.CloseIdleConnections] calls it.
func (t *Transport) CloseIdleConnections() { t.tree.CloseIdle() }

var errTransportClosed = errors.New("the Transport is closed")

// Close ends the watch of the target and closes all connections. Requests in flight fail, and so do later ones.
func (t *Transport) Close() error {
	t.close()
	return nil
}

func (t *Transport) end() {
	t.unlist()
	t.watcher.Close()
	t.refs.Bind(nil)
	t.set(&state{err: fmt.Errorf("%s: %w", t.where, errTransportClosed)})
	t.lb.Close()
	t.tree.Close()
	_ = t.scope.Release() // closing a client cannot fail
}
