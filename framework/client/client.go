package client

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/internal/authority"
	"github.com/xdsforge/xdsforge/framework/internal/lrs"
	"github.com/xdsforge/xdsforge/framework/lkg"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A Client watches resources of the types and authorities that it was created with. It implements
// [resource.Source], is a [resource.Client], and is safe for concurrent use.
type Client struct {
	base

	config *bootstrap.Config
	types  *resource.Set
	// decoded are the types and the types of their list collections.
	decoded *resource.Set
	logger  *slog.Logger
	name    string
	spans   *spans // nil: no tracer
	node    []byte // encoded
	budget  time.Duration
	limits  resource.Limits
	slow    atomic.Uint64 // number of times that a watcher exceeded its time budget
	nodeID  string
	seed    maphash.Seed

	pool    *Pool
	ownPool bool

	// The authorities never change; their machines belong to the loop.
	oldStyle    *authorityScope // nil if there is no top-level server
	authorities map[string]*authorityScope

	loop    *loop
	history history
	store   *storeUse // nil: there is no last known good store
	loads   loads

	// Goroutines, timers and the Go runtime keep these in memory for a while after Close. So they are not parts of
	// the client, and do not refer to it.
	goroutines *goroutinePool // for the loop, requests and callbacks
	callbacks  *callbackPool
	scratches  *sync.Pool // of *scratch
	states     *sync.Pool // of *resource.State, for subscriptions

	ctx    context.Context // of every stream
	cancel context.CancelFunc
	done   chan struct{}  // closed by Close
	looped chan struct{}  // closed by the loop when it has ended
	wg     sync.WaitGroup // the streams
	once   sync.Once
}

var (
	_ resource.Source = (*Client)(nil)
	_ resource.Client = (*Client)(nil)
)

// base keeps the embedded field unexported.
type base = resource.Base

// An authorityScope is an authority within this client, with the sessions to its servers in the
// order of the bootstrap's list (gRFC A71).
type authorityScope struct {
	client   *Client
	name     string
	oldStyle bool // all old-style names
	machine  *authority.Machine
	sessions []*session
	active   int // the position of the server in use, plus one; 0: none. Loop only

	writer             *lkg.Writer // nil: there is no last known good store
	reachable, settled bool        // as the writer knows them. Loop only
}

// New returns a client. It connects to no server until a resource is watched. The caller must close
// it.
func New(config *bootstrap.Config, types *resource.Set, o Options) (*Client, error) {
	if config == nil || types == nil {
		return nil, errors.New("client: New needs a bootstrap configuration and a set of types")
	}
	o = o.withDefaults()
	node, err := encodeNode(config, o.Features...)
	if err != nil {
		return nil, err
	}
	loadNode, err := encodeNode(config, append([]string{lrs.ClientFeature}, o.Features...)...)
	if err != nil {
		return nil, err
	}
	c := &Client{
		config: config, types: types, logger: o.Logger, name: o.Name, spans: newSpans(o),
		node: node, nodeID: config.Node().GetId(), seed: maphash.MakeSeed(),
		pool: o.Pool, budget: o.WatcherBudget, limits: o.Limits,
		done: make(chan struct{}), looped: make(chan struct{}), goroutines: new(goroutinePool),
		scratches: new(sync.Pool), states: new(sync.Pool),
		loads: loads{config: o.lrs(), node: loadNode, sessions: make(map[string]*loadSession)},
	}
	c.base = resource.NewBase(c)
	if c.decoded, err = withCollections(types, c.limits.CollectionMembers); err != nil {
		return nil, err
	}
	if c.pool == nil {
		c.pool, c.ownPool = NewPool(o.Transport), true
	}
	logger := o.Logger
	c.callbacks = &callbackPool{start: c.goroutines.start, full: func() {
		logger.Warn("too many watchers block: others wait until one of them returns", "blocked", maxBlockedWatchers)
	}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.loop = newLoop(c, o.ads())
	if o.Store != nil {
		if c.store, err = newStoreUse(c, o.Store); err != nil {
			c.cancel()
			return nil, err
		}
	}
	c.scopes(o)
	return c, nil
}

// scopes makes the first level of the cache (gRFC A47). It has an entry for each authority, and one
// for old-style names, which is separate from the empty authority.
func (c *Client) scopes(o Options) {
	if servers := c.config.Servers(); len(servers) > 0 {
		c.oldStyle = c.scope(lkg.Authority{OldStyle: true}, &bootstrap.Authority{Servers: servers}, o)
	}
	c.authorities = make(map[string]*authorityScope)
	for _, name := range c.config.Authorities() {
		a, _ := c.config.Authority(name)
		c.authorities[name] = c.scope(lkg.Authority{Name: name}, a, o)
	}
}

func (c *Client) scope(id lkg.Authority, a *bootstrap.Authority, o Options) *authorityScope {
	s := &authorityScope{client: c, name: id.Name, oldStyle: id.OldStyle}
	limit := authority.MaxServers
	if c.store != nil {
		limit--
	}
	config := authority.Config{Types: c.decoded, NodeID: c.nodeID, FailOnDataErrors: o.FailOnDataErrors, MaxMembers: c.limits.CollectionMembers}
	config.FallbackOnReachabilityOnly = a.FallbackOnReachabilityOnly
	for _, server := range a.Servers {
		if len(s.sessions) == limit {
			break // the machine does not support further positions
		}
		ses := c.loop.session(server)
		if slices.Contains(s.sessions, ses) {
			continue // the same server again is not a fallback
		}
		ses.users = append(ses.users, user{s, len(s.sessions)})
		s.sessions = append(s.sessions, ses)
		config.Servers = append(config.Servers, ses.server)
	}
	if c.store != nil {
		c.store.join(s, &config)
	}
	s.machine = authority.New(config)
	return s
}

// allScopes yields the authorities. The one of old-style names is first.
func (c *Client) allScopes() iter.Seq[*authorityScope] {
	return func(yield func(*authorityScope) bool) {
		if c.oldStyle != nil && !yield(c.oldStyle) {
			return
		}
		for _, a := range c.authorities {
			if !yield(a) {
				return
			}
		}
	}
}

// find returns the authority of a name, or nil if the client does not have it.
func (c *Client) find(name xdstp.Name) *authorityScope {
	if !name.IsXdstp() {
		return c.oldStyle
	}
	return c.authorities[name.Authority()]
}

// Types implements [resource.Source].
func (c *Client) Types() *resource.Set { return c.types }

// ParseName implements [resource.Source].
func (c *Client) ParseName(s string) (xdstp.Name, error) { return c.config.ParseName(s) }

var errNoFunction = errors.New("client: the function is nil")

// Subscribe implements [resource.Source].
func (c *Client) Subscribe(t *resource.Descriptor, name string, f func(next, last resource.State)) (stop func(), err error) {
	if f == nil {
		return nil, errNoFunction
	}
	if err := c.known(t); err != nil {
		return nil, err
	}
	return c.subscribe(context.Background(), t, name, &subscription{to: syncWatcher(f)})
}

// SubscribeAsync implements [resource.Source].
func (c *Client) SubscribeAsync(t *resource.Descriptor, name string, f func(next, last resource.State, done func())) (stop func(), err error) {
	if f == nil {
		return nil, errNoFunction
	}
	if err := c.known(t); err != nil {
		return nil, err
	}
	return c.subscribe(context.Background(), t, name, &subscription{to: asyncWatcher(f)})
}

// subscribe starts a subscription to one of the client's types or to one of its list collections. Only
// the span of ctx is used.
func (c *Client) subscribe(ctx context.Context, t *resource.Descriptor, name string, s *subscription) (stop func(), err error) {
	n, scope, err := c.resource(t, name)
	if err != nil {
		return nil, err
	}
	s.scope, s.record = scope, scope.machine.Handle(t, n)
	c.spans.subscribe(ctx, c, s, t, n)
	c.loop.subscribe(s)
	return s.Stop, nil
}

// Observe implements [resource.Source].
func (c *Client) Observe(t *resource.Descriptor, name string) (resource.Observation, error) {
	return c.ObserveIn(context.Background(), t, name)
}

// ObserveIn is Observe for a caller with a span: the span of the subscription is a child of the one in
// ctx. ctx does not end the subscription.
func (c *Client) ObserveIn(ctx context.Context, t *resource.Descriptor, name string) (resource.Observation, error) {
	if err := c.known(t); err != nil {
		return nil, err
	}
	s := &subscription{to: make(signal, 1)}
	if _, err := c.subscribe(ctx, t, name, s); err != nil {
		return nil, err
	}
	return s, nil
}

// known returns an error if the client does not have the type.
func (c *Client) known(t *resource.Descriptor) error {
	if c.closed() {
		return fmt.Errorf("client: %w", resource.ErrClosed)
	}
	if t == nil || c.decoded.Index(t) < 0 {
		what := "nil"
		if t != nil {
			what = t.Name
		}
		return fmt.Errorf("client: %w %s; register it before Freeze", resource.ErrUnknownType, what)
	}
	return nil
}

// locate returns the canonical name and the authority of a resource of a type.
func (c *Client) locate(t *resource.Descriptor, name string) (xdstp.Name, *authorityScope, error) {
	n, err := c.config.ParseName(name)
	if err == nil {
		err = n.CheckType(t.Name)
	}
	scope := c.find(n)
	if err == nil && scope == nil {
		_, err = c.config.ServersFor(n)
	}
	if err != nil {
		return xdstp.Name{}, nil, fmt.Errorf("client: watching a %s: %w", t.ShortName(), err)
	}
	return n, scope, nil
}

// resource runs the checks that precede a subscription to a resource.
func (c *Client) resource(t *resource.Descriptor, name string) (xdstp.Name, *authorityScope, error) {
	n, scope, err := c.locate(t, name)
	if err != nil {
		return xdstp.Name{}, nil, err
	}
	if isCollection(n) {
		return xdstp.Name{}, nil, fmt.Errorf("client: watching a %s: %q is a collection; use WatchCollection", t.ShortName(), n)
	}
	return n, scope, nil
}

// Shard implements [resource.Source].
func (c *Client) Shard(t *resource.Descriptor, name xdstp.Name) resource.Shard {
	scope, i := c.find(name), c.decoded.Index(t)
	if scope == nil || i < 0 {
		return nil
	}
	return scope.machine.Shard(i)
}

// Shards implements [resource.Source].
func (c *Client) Shards(t *resource.Descriptor) iter.Seq[resource.Shard] {
	return func(yield func(resource.Shard) bool) {
		i := c.decoded.Index(t)
		if i < 0 {
			return
		}
		for a := range c.allScopes() {
			if !yield(a.machine.Shard(i)) {
				return
			}
		}
	}
}

func (c *Client) closed() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// Close ends all subscriptions and streams. It also closes the connections, unless the client was
// given a pool. Watches that iterate end. No further callback starts. Close does not wait for
// watchers' code. It waits at most half a second for a decoder. Cached resources can still be
// looked up. Close may be called more than once.
func (c *Client) Close() error {
	var err error
	c.once.Do(func() {
		close(c.done)
		c.loop.close() // before the streams end, which would be an event
		c.cancel()
		c.streams(patience)
		for _, ses := range c.loop.sessions {
			ses.disconnect(true)
		}
		for _, ses := range c.loop.loads {
			ses.disconnect(true)
		}
		for a := range c.allScopes() {
			if a.writer != nil {
				a.writer.Close()
			}
		}
		if c.ownPool {
			err = c.pool.Close()
		}
		c.goroutines.close()
	})
	return err
}

// patience is the longest time that Close waits for streams. They end at once, unless a decoder
// does not return.
const patience = 500 * time.Millisecond

// streams waits for the goroutines of streams, for at most d.
func (c *Client) streams(d time.Duration) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.wg.Wait()
	}()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
	}
}
