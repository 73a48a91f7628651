// Package filters keeps what HTTP filters own: instances, which survive updates, and the interceptors of one
// configuration.
//
// A [Holder] belongs to a channel or to the port of a server. Each new configuration begins a [Set], and takes from it
// the instance of each entry of its list of filters. The holder finds the instances that earlier sets use, so that an
// entry keeps its instance while a configuration or a call uses the entry. The set ends after its release and after the
// last call that acquired it. Then it closes its interceptors, and after them the instances that no other set uses.
//
// The package knows neither the types of filters nor gRPC.
package filters

import (
	"slices"
	"sync"
	"sync/atomic"
)

// An Instance owns the resources of a filter across configurations.
type Instance interface {
	// Close is called once, after every interceptor of the instance was closed.
	Close()
}

// A Key identifies an entry of a list of filters across updates.
type Key struct {
	// Chain identifies the list on its channel or port: the name of a filter chain, or a pointer that only equal
	// Listeners share. It must be comparable.
	Chain any
	// Name is the name of the entry, and Message the message type of its configuration.
	Name, Message string
}

// A Holder has the instances in use. Its zero value is empty. It is safe for concurrent use.
type Holder[I Instance] struct {
	mu   sync.Mutex
	live map[Key]*counted[I]
}

// A counted is an instance and the number of its uses by sets, which the mutex of the holder guards.
type counted[I Instance] struct {
	ready    chan struct{} // closed when instance and err are set
	instance I
	err      error
	uses     int
}

// Begin returns the set of a new configuration. Its creator releases it when no call can begin with the configuration
// any more. The new set must begin before the release of the set that it replaces, so that instances survive.
func (h *Holder[I]) Begin() *Set[I] {
	s := &Set[I]{holder: h}
	s.uses.Store(1)
	return s
}

// Len returns the number of instances in use.
func (h *Holder[I]) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.live)
}

// A Set has the interceptors of a configuration, and uses their instances. One goroutine fills it, before calls
// acquire it.
type Set[I Instance] struct {
	holder  *Holder[I]
	uses    atomic.Int64 // 1 for the configuration, and 1 for each call
	keys    []Key
	closers []func()
}

// Instance returns the instance of an entry. It calls create if no set in use has one. It returns the error of create,
// and then the next set tries again.
func (s *Set[I]) Instance(key Key, create func() (I, error)) (I, error) {
	h := s.holder
	h.mu.Lock()
	c, found := h.live[key]
	if !found {
		c = &counted[I]{ready: make(chan struct{})}
		if h.live == nil {
			h.live = make(map[Key]*counted[I])
		}
		h.live[key] = c
	}
	c.uses++
	h.mu.Unlock()
	if found {
		<-c.ready
	} else {
		c.instance, c.err = create() // without the lock: it is the code of a filter
		close(c.ready)
	}
	if c.err != nil {
		h.drop(key, c)
		return c.instance, c.err
	}
	s.keys = append(s.keys, key)
	return c.instance, nil
}

// drop reverses one use. It reports whether it was the last one.
func (h *Holder[I]) drop(key Key, c *counted[I]) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.uses--
	if c.uses == 0 {
		delete(h.live, key)
	}
	return c.uses == 0
}

// OnEnd registers the function that closes an interceptor when the set ends. Functions run in reverse order.
func (s *Set[I]) OnEnd(f func()) { s.closers = append(s.closers, f) }

// Acquire counts a call. It returns false if the set has ended. Then another configuration is in use.
func (s *Set[I]) Acquire() bool {
	for {
		n := s.uses.Load()
		if n == 0 {
			return false
		}
		if s.uses.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Release reverses one Begin or Acquire. The last one ends the set.
func (s *Set[I]) Release() {
	if s.uses.Add(-1) > 0 {
		return
	}
	for _, f := range slices.Backward(s.closers) {
		f()
	}
	h := s.holder
	for _, key := range slices.Backward(s.keys) {
		h.mu.Lock()
		c := h.live[key]
		h.mu.Unlock()
		if h.drop(key, c) {
			c.instance.Close()
		}
	}
}
