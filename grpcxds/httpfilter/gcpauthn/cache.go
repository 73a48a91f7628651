package gcpauthn

import (
	"container/list"
	"context"
	"sync"
)

// maxCache limits the number of tokens, whatever the control plane configures.
const maxCache = 1000

// A cache has the credentials of the audiences that were used last (A83).
type cache struct {
	source TokenSource
	ctx    context.Context //nolint:containedctx // ends with the cache
	cancel context.CancelFunc
	// fetches waits for the fetches in progress, of removed credentials too.
	fetches sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	limit   int
	byName  map[string]*list.Element
	byUsage list.List // of *credential, the one that was used last in front
}

func newCache(source TokenSource) *cache {
	c := &cache{source: source, limit: maxCache, byName: make(map[string]*list.Element)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// get returns the credential of an audience.
func (c *cache) get(audience string) *credential {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byName[audience]; ok {
		c.byUsage.MoveToFront(e)
		return e.Value.(*credential)
	}
	x := &credential{cache: c, audience: audience}
	c.byName[audience] = c.byUsage.PushFront(x)
	c.evict()
	return x
}

// resize sets the limit of credentials.
func (c *cache) resize(limit uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limit = int(min(limit, maxCache))
	c.evict()
}

// evict removes the credentials that were not used for the longest time. Calls that have one keep it. mu is held.
func (c *cache) evict() {
	for c.byUsage.Len() > c.limit {
		e := c.byUsage.Back()
		delete(c.byName, e.Value.(*credential).audience)
		c.byUsage.Remove(e)
	}
}

// close ends all fetches and waits for them. No call uses the cache any more.
func (c *cache) close() {
	c.cancel()
	c.fetches.Wait()
}
