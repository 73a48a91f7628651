package grpcxds

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/certprovider"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/grpcxds/internal/balancer/breaker"
	"github.com/xdsforge/xdsforge/grpcxds/internal/filterchain"
	"github.com/xdsforge/xdsforge/grpcxds/internal/security"
)

// serverScope is the key of the client that all servers of a pool share; any other key is
// a data-plane target (gRFC A71).
const serverScope = "#server"

// A Pool is what the servers and channels of a program share: the bootstrap, the resource
// types and HTTP filters, the connections to control planes, and an xDS client for each
// data-plane target and one for all servers (gRFC A71). It is safe for concurrent use.
//
// A server or channel that is given none has one of its own.
type Pool struct {
	config    *bootstrap.Config
	types     *resource.Set
	filters   []httpfilter.Filter   // the user's
	plugins   []certprovider.Plugin // the user's
	chains    *filterchain.Table
	providers *security.Providers
	breakers  breaker.Set // of clusters (gRFC A32)
	logger    *slog.Logger
	options   []client.Option

	connections *client.Pool
	shared      bool // connections are somebody else's

	mu     sync.Mutex
	closed bool
	scopes map[string]*scope
}

// A scope is the client of one key, with those who use it counted. Whoever acquired it
// releases it once.
type scope struct {
	*client.Client
	pool *Pool
	key  string
	uses int // guarded by pool.mu
}

// NewPool makes a pool, which talks to nobody until something is needed. Without
// [WithBootstrap] it loads the bootstrap that the environment names (gRFC A27), now; that
// one is missing or invalid is an error. Close the pool after all that uses it.
func NewPool(opts ...PoolOption) (*Pool, error) {
	p := &Pool{scopes: make(map[string]*scope)}
	for _, o := range opts {
		if o != nil {
			o(p)
		}
	}
	var err error
	if p.config == nil {
		if p.config, err = bootstrap.Load(); err != nil {
			return nil, fmt.Errorf("grpcxds: %w", err)
		}
	}
	if err := p.extend(); err != nil {
		return nil, fmt.Errorf("grpcxds: %w", err)
	}
	if p.logger == nil {
		p.logger = slog.Default()
	}
	if p.connections == nil {
		p.connections = client.NewPool()
	}
	return p, nil
}

// acquire returns the client of a key, which is made if nobody uses it yet. The error is
// resource.ErrClosed after Close, or says what New of package client refuses.
func (p *Pool) acquire(key string) (*scope, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, fmt.Errorf("grpcxds: the pool is %w", resource.ErrClosed)
	}
	s, ok := p.scopes[key]
	if !ok {
		opts := slices.Concat([]client.Option{client.WithLogger(p.logger)}, p.options,
			[]client.Option{client.WithPool(p.connections)})
		c, err := client.New(p.config, p.types, opts...)
		if err != nil {
			return nil, fmt.Errorf("grpcxds: %w", err)
		}
		s = &scope{Client: c, pool: p, key: key}
		p.scopes[key] = s
	}
	s.uses++
	return s, nil
}

// release gives a client back; the last one to do so closes it.
func (s *scope) release() {
	if s.pool.drop(s) {
		_ = s.Close() // closing a client cannot fail
	}
}

// drop reports whether nobody uses the scope any more.
func (p *Pool) drop(s *scope) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.uses--
	if s.uses > 0 || p.scopes[s.key] != s {
		return false
	}
	delete(p.scopes, s.key)
	return true
}

// Close closes what the pool owns, the clients of servers and channels that still use it
// among that. It may be called more than once.
func (p *Pool) Close() error {
	p.mu.Lock()
	scopes := p.scopes
	p.scopes, p.closed = nil, true
	p.mu.Unlock()
	var errs []error
	for _, s := range scopes {
		errs = append(errs, s.Close())
	}
	p.providers.Close()
	if !p.shared {
		errs = append(errs, p.connections.Close())
	}
	return errors.Join(errs...)
}
