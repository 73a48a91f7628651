package client

import (
	"slices"
	"testing"

	"github.com/xdsforge/xdsforge/framework/status"
)

func numbers(events []status.Event) (list []uint64) {
	for _, ev := range events {
		list = append(list, ev.Number)
	}
	return list
}

// The history holds the last events in their order, and a reader gets those that it does not know.
func TestHistoryIsARing(t *testing.T) {
	var h history
	if events, added := h.after(0); len(events) > 0 || added == nil {
		t.Fatalf("events = %v, want none and a channel", events)
	}
	add := func(n int) {
		for range n {
			h.add(status.Event{})
		}
	}
	_, added := h.after(0)
	add(3)
	select {
	case <-added:
	default:
		t.Error("the channel is not closed by an event")
	}
	events, added := h.after(1)
	if !slices.Equal(numbers(events), []uint64{2, 3}) || added != nil {
		t.Errorf("events after 1 = %v, want 2 and 3", numbers(events))
	}
	for _, n := range []int{status.MaxEvents - 3, 1, 1500} {
		add(n)
		events, _ := h.after(0)
		last := events[len(events)-1].Number
		if len(events) != status.MaxEvents || last != h.last {
			t.Fatalf("%d events until %d, want %d until %d", len(events), last, status.MaxEvents, h.last)
		}
		for i, ev := range events {
			if ev.Number != last-uint64(len(events)-1-i) {
				t.Fatalf("event %d has number %d, the last one %d", i, ev.Number, last)
			}
		}
	}
	if events, _ := h.after(h.last - 2); !slices.Equal(numbers(events), []uint64{h.last - 1, h.last}) {
		t.Errorf("events after %d = %v", h.last-2, numbers(events))
	}
	if n := testing.AllocsPerRun(100, func() { h.add(status.Event{Kind: status.EventAccepted}) }); n > 0 {
		t.Errorf("an event allocates %v objects, want none", n)
	}
}

// The cost of an event does not show in that of a response.
func BenchmarkHistory(b *testing.B) {
	var h history
	b.ReportAllocs()
	for b.Loop() {
		h.add(status.Event{Kind: status.EventAccepted})
	}
}
