package routing_test

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// A subscriber counts the holds of each cluster.
type subscriber struct {
	mu   sync.Mutex
	held map[string]int
}

func (h *subscriber) Subscribe(name string) (unsubscribe func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held[name]++
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.held[name]--
		if h.held[name] == 0 {
			delete(h.held, name)
		}
	}
}

func (h *subscriber) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(slices.Sorted(maps.Keys(h.held)), " ")
}
