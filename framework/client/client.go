package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"

	"github.com/xdsforge/xdsforge/framework/authority"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A Client watches resources of the types and authorities that it was created
// with. It implements [resource.Client] and is safe for concurrent use.
type Client struct {
	config *bootstrap.Config
	types  *resource.Set
	logger *slog.Logger
	node   []byte // encoded
	nodeID string

	pool    *Pool
	ownPool bool

	// The authorities never change; their machines belong to the loop.
	oldStyle    *authorityScope // nil when there is no top-level server
	authorities map[string]*authorityScope

	loop    *loop
	workers workers

	ctx    context.Context // of every stream
	cancel context.CancelFunc
	done   chan struct{}  // closed by Close
	wg     sync.WaitGroup // the loop and the streams
	once   sync.Once
}

var _ resource.Client = (*Client)(nil)

// An authorityScope is an authority within this client, and the channel to the
// server it uses.
type authorityScope struct {
	machine *authority.Machine
	channel *channel
}

// New returns a client that talks to nobody until something is watched. Close
// it. An authority's resources come from the first server of its list.
func New(config *bootstrap.Config, types *resource.Set, opts ...Option) (*Client, error) {
	if config == nil || types == nil {
		return nil, errors.New("client: New needs a bootstrap configuration and a set of types")
	}
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	node, err := encodeNode(config)
	if err != nil {
		return nil, err
	}
	c := &Client{
		config: config, types: types, logger: o.logger,
		node: node, nodeID: config.Node().GetId(),
		pool: o.pool,
		done: make(chan struct{}),
	}
	if c.logger == nil {
		c.logger = slog.New(slog.DiscardHandler)
	}
	if c.pool == nil {
		var po []PoolOption
		if o.transport != nil {
			po = append(po, PoolTransport(o.transport))
		}
		c.pool, c.ownPool = NewPool(po...), true
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.loop = newLoop(c, o.ads)
	c.scopes()
	c.wg.Go(c.loop.run)
	return c, nil
}

// scopes makes the first level of the cache (gRFC A47): an entry for each
// authority, and one for old-style names apart from the empty authority.
func (c *Client) scopes() {
	if servers := c.config.Servers(); len(servers) > 0 {
		c.oldStyle = c.scope(servers[0])
	}
	c.authorities = make(map[string]*authorityScope)
	for _, name := range c.config.Authorities() {
		a, _ := c.config.Authority(name)
		c.authorities[name] = c.scope(a.Servers[0])
	}
}

func (c *Client) scope(server *bootstrap.Server) *authorityScope {
	ch := c.loop.channel(server)
	s := &authorityScope{
		machine: authority.New(authority.Config{Types: c.types, Server: ch.server, NodeID: c.nodeID}),
		channel: ch,
	}
	ch.authorities = append(ch.authorities, s)
	return s
}

// find returns the authority of a name; nil when the client has none such.
func (c *Client) find(name xdstp.Name) *authorityScope {
	if !name.IsXdstp() {
		return c.oldStyle
	}
	return c.authorities[name.Authority()]
}

// Types implements [resource.Client].
func (c *Client) Types() *resource.Set { return c.types }

// ParseName implements [resource.Client].
func (c *Client) ParseName(s string) (xdstp.Name, error) { return c.config.ParseName(s) }

// Subscribe implements [resource.Client].
func (c *Client) Subscribe(t *resource.Type, name string, w resource.Watcher[resource.Update]) (cancel func(), err error) {
	if w == nil {
		return nil, errors.New("client: the watcher is nil")
	}
	s, err := c.subscription(t, name)
	if err != nil {
		return nil, err
	}
	s.watcher = w
	c.loop.post(watched{s})
	return s.Stop, nil
}

// Observe implements [resource.Client].
func (c *Client) Observe(t *resource.Type, name string) (resource.Observation, error) {
	s, err := c.subscription(t, name)
	if err != nil {
		return nil, err
	}
	s.ready = make(chan struct{}, 1)
	c.loop.post(watched{s})
	return s, nil
}

// subscription checks what can be checked before anything is subscribed to.
func (c *Client) subscription(t *resource.Type, name string) (*subscription, error) {
	if c.closed() {
		return nil, fmt.Errorf("client: %w", resource.ErrClosed)
	}
	if t == nil || c.types.Index(t) < 0 {
		what := "nil"
		if t != nil {
			what = t.Name
		}
		return nil, fmt.Errorf("client: %w %s; register it before Freeze", resource.ErrUnknownType, what)
	}
	n, err := c.config.ParseName(name)
	if err != nil {
		return nil, fmt.Errorf("client: watching a %s: %w", t.ShortName(), err)
	}
	if err := n.CheckType(t.Name); err != nil {
		return nil, fmt.Errorf("client: watching a %s: %w", t.ShortName(), err)
	}
	scope := c.find(n)
	if scope == nil {
		_, err := c.config.ServersFor(n)
		return nil, fmt.Errorf("client: watching a %s: %w", t.ShortName(), err)
	}
	return &subscription{client: c, authority: scope, typ: t, name: n}, nil
}

// Shard implements [resource.Client].
func (c *Client) Shard(t *resource.Type, name xdstp.Name) resource.Shard {
	scope, i := c.find(name), c.types.Index(t)
	if scope == nil || i < 0 {
		return nil
	}
	return scope.machine.Shard(i)
}

// Shards implements [resource.Client].
func (c *Client) Shards(t *resource.Type) iter.Seq[resource.Shard] {
	return func(yield func(resource.Shard) bool) {
		i := c.types.Index(t)
		if i < 0 || c.oldStyle != nil && !yield(c.oldStyle.machine.Shard(i)) {
			return
		}
		for _, a := range c.authorities {
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

// Close ends every subscription and stream and, unless the client was given a
// pool, its connections. Watches that iterate end; no callback starts any more.
// It does not wait for a watcher's own code. What was cached can still be looked
// up. Close may be called more than once.
func (c *Client) Close() error {
	var err error
	c.once.Do(func() {
		close(c.done)
		c.cancel()
		c.wg.Wait()
		for _, ch := range c.loop.channels {
			ch.letGo()
		}
		if c.ownPool {
			err = c.pool.Close()
		}
	})
	return err
}
