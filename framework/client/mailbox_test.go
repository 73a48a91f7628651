package client

import (
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/xdsforge/xdsforge/framework/internal/ads"
	"github.com/xdsforge/xdsforge/framework/resource"
)

// TestMailboxTakes expects the newest state, with the one that the watcher has seen before, and
// nothing if both are equal.
func TestMailboxTakes(t *testing.T) {
	c := &Client{done: make(chan struct{}), states: new(sync.Pool)}
	c.loop = newLoop(c, ads.Config{})
	s := &subscription{to: make(signal, 1), scope: &authorityScope{client: c}}
	a, b, none := resource.State{Err: errNoName}, resource.State{Err: errTwice}, resource.State{}
	for i, step := range []struct {
		notices    []resource.State
		next, last resource.State
		changed    bool
	}{
		{nil, none, none, false},
		{[]resource.State{none}, none, none, false},
		{[]resource.State{a}, a, none, true},
		{nil, none, none, false},
		{[]resource.State{b}, b, a, true},
		{[]resource.State{a, b}, none, none, false},
		{[]resource.State{b, a}, a, b, true},
		{[]resource.State{none, b}, b, a, true},
		{[]resource.State{none}, none, b, true},
		{[]resource.State{b}, b, none, true},
	} {
		for _, n := range step.notices {
			s.Notify(n)
		}
		next, last, changed := s.take()
		if changed != step.changed || changed && (next != step.next || last != step.last) {
			t.Errorf("step %d: took %v after %v, %t; want %v after %v, %t", i, next, last, changed, step.next, step.last, step.changed)
		}
		if s.last != nil {
			t.Errorf("step %d: the mailbox keeps the last state", i)
		}
	}
}

// TestSubscriptionsAreSmall expects a subscription to fit into the size class of 112 bytes.
func TestSubscriptionsAreSmall(t *testing.T) {
	if size := unsafe.Sizeof(subscription{}); size > 112 {
		t.Errorf("a subscription has %d bytes, want at most 112", size)
	}
}

// A delivery that is over keeps neither the client nor the stream: its stopped timer may stay in memory.
func TestDeliveryForgetsItsClient(t *testing.T) {
	for name, end := range map[string]func(*delivery){"done": (*delivery).done, "expired": (*delivery).expire} {
		resumed := 0
		d := newDelivery(&Client{budget: time.Hour}, func() { resumed++ })
		end(d)
		end(d)
		if resumed != 1 || d.client != nil || d.resume != nil {
			t.Errorf("%s: resumed %d times, and keeps the client: %t; want once, and no client", name, resumed, d.client != nil)
		}
	}
}
