// Package sidechannel keeps the channels to the services that resources name (gRFC A102). The HTTP filters of all channels
// and servers of an Env share them.
package sidechannel

import (
	"errors"
	"fmt"
	"sync"

	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge/framework/grpcservice"
	"github.com/xdsforge/xdsforge/framework/resource"
)

// maxChannels limits the services in use at a time.
const maxChannels = 1000

// A Dial creates the channel to a service. release frees its credentials after the channel was closed.
type Dial func(*grpcservice.Service) (cc *grpc.ClientConn, release func(), err error)

// A Cache has the channels in use. It is safe for concurrent use.
type Cache struct {
	dial Dial

	mu     sync.Mutex
	open   map[key]*channel
	closed bool
}

// A key has the properties that distinguish channels. Time limits, headers and tokens belong to calls.
type key struct {
	server  string
	roots   [2]string
	own     [2]string
	managed bool
}

// A channel is open while uses is above 0. The cache's mutex guards uses.
type channel struct {
	*grpc.ClientConn
	release func()
	uses    int
}

// New creates a cache.
func New(dial Dial) *Cache { return &Cache{dial: dial, open: make(map[key]*channel)} }

func keyOf(s *grpcservice.Service) key {
	k := key{server: s.Server.Key(), managed: s.Managed}
	if t := s.TLS; t != nil {
		k.roots = [2]string{t.Roots.Provider, t.Roots.Certificate}
		k.own = [2]string{t.Identity.Provider, t.Identity.Certificate}
	}
	return k
}

// Channel returns the channel to a service. The caller calls release after its last call. The channel is closed after its
// last release.
func (c *Cache) Channel(s *grpcservice.Service) (cc grpc.ClientConnInterface, release func(), err error) {
	if s == nil || s.Server == nil {
		return nil, nil, errors.New("sidechannel: there is no service")
	}
	k := keyOf(s)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, nil, fmt.Errorf("sidechannel: the Env is %w", resource.ErrClosed)
	}
	ch, ok := c.open[k]
	if !ok {
		if len(c.open) >= maxChannels {
			return nil, nil, fmt.Errorf("sidechannel: %d services are in use; must be at most %d", len(c.open), maxChannels)
		}
		ch = new(channel)
		if ch.ClientConn, ch.release, err = c.dial(s); err != nil {
			return nil, nil, fmt.Errorf("sidechannel: %w", err)
		}
		c.open[k] = ch
	}
	ch.uses++
	return newCaller(ch, s), sync.OnceFunc(func() { c.drop(k, ch) }), nil
}

// drop reverses one use of a channel.
func (c *Cache) drop(k key, ch *channel) {
	c.mu.Lock()
	ch.uses--
	last := ch.uses == 0 && c.open[k] == ch
	if last {
		delete(c.open, k)
	}
	c.mu.Unlock()
	if last {
		ch.end()
	}
}

// end closes the channel and frees its credentials.
func (ch *channel) end() {
	_ = ch.Close() // it is closed once
	ch.release()
}

// Len returns the number of open channels.
func (c *Cache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open)
}

// Close closes all channels. Their calls fail.
func (c *Cache) Close() {
	c.mu.Lock()
	open := c.open
	c.open, c.closed = nil, true
	c.mu.Unlock()
	for _, ch := range open {
		ch.end()
	}
}
