package client

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/xdsforge/xdsforge/framework/internal/authority"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/status"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// A history holds the last events of a client. The loop adds events; any goroutine may read them.
type history struct {
	mu     sync.Mutex
	events []status.Event // a ring once it is full
	last   uint64         // the number of the last event
	added  chan struct{}  // closed when an event is added; nil: nobody waits
}

// add records an event. It allocates nothing once the ring is full and nobody waits.
func (h *history) add(ev status.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	ev.Number = h.last
	if len(h.events) < status.MaxEvents {
		h.events = append(h.events, ev)
	} else {
		h.events[(h.last-1)%status.MaxEvents] = ev
	}
	if h.added != nil {
		close(h.added)
		h.added = nil
	}
}

// after returns the recorded events whose numbers are above n, in their order. If there are none,
// added is closed when there is one.
func (h *history) after(n uint64) (events []status.Event, added <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := max(n, h.last-uint64(len(h.events))); i < h.last; i++ {
		events = append(events, h.events[i%status.MaxEvents])
	}
	if len(events) == 0 && h.added == nil {
		h.added = make(chan struct{})
	}
	return events, h.added
}

// Events returns the last [status.MaxEvents] events, the oldest first.
func (c *Client) Events() []status.Event {
	events, _ := c.history.after(0)
	return events
}

// FollowEvents yields the recorded events and then each further one, until ctx is done or the client
// is closed. If a slow reader misses events, their numbers have a gap.
func (c *Client) FollowEvents(ctx context.Context) iter.Seq[status.Event] {
	return func(yield func(status.Event) bool) {
		for last := uint64(0); ; {
			ended := c.ended() // before the look: the loop adds no event after its end
			events, added := c.history.after(last)
			for i := range events {
				if ctx.Err() != nil || !yield(events[i]) {
					return
				}
				last = events[i].Number
			}
			if len(events) > 0 {
				continue
			}
			if ended {
				return
			}
			select {
			case <-added:
			case <-c.looped:
			case <-ctx.Done():
				return
			}
		}
	}
}

// ended reports whether the loop has ended.
func (c *Client) ended() bool {
	select {
	case <-c.looped:
		return true
	default:
		return false
	}
}

// The reasons why the client closes a stream.
var (
	errUnwatched  = errors.New("nothing is watched")
	errSuperseded = errors.New("a better server has taken over")
	errNoDelta    = errors.New("the control plane does not answer the delta protocol")
	errTooLarge   = errors.New("a request exceeds 4 MiB; the client changes to the delta protocol")
)

// event records an event of the server.
func (ses *session) event(ev status.Event) {
	ev.Time, ev.Server = ses.client.loop.now, ses.server
	ses.client.history.add(ev)
	ses.logEvent(&ev)
}

// brief returns the beginning of an error's text, so that a control plane cannot fill the history with
// long ones.
func brief(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(strings.Clone(printable.Text(err.Error(), printable.Quoted)))
}

// traffic is the traffic of one type from one server.
type traffic struct {
	typ            *resource.Descriptor
	version        string // of the last response
	valid, invalid uint64 // resources
}

// responded records a response and its resources.
func (ses *session) responded(d *decoded) {
	i := slices.IndexFunc(ses.traffic, func(t traffic) bool { return t.typ == d.typ })
	if i < 0 {
		i = len(ses.traffic)
		ses.traffic = append(ses.traffic, traffic{typ: d.typ})
	}
	t := &ses.traffic[i]
	t.version = d.version
	if len(t.version) > printable.Short {
		t.version = strings.Clone(printable.Text(t.version, printable.Short))
	}
	t.valid += uint64(d.valid + len(d.unchanged)) //nolint:gosec // not negative
	t.invalid += uint64(d.invalid)                //nolint:gosec // not negative
	ses.failing = false
	ev := status.Event{Kind: status.EventResponse, Type: d.typ.Name, Version: t.version, Resources: d.total, Unchanged: len(d.unchanged), Unwatched: d.left, Removed: d.removed}
	ses.event(ev)
	ev.Unchanged, ev.Unwatched, ev.Removed = 0, 0, 0
	if d.valid > 0 {
		ev.Kind, ev.Resources = status.EventAccepted, d.valid
		ses.event(ev)
	}
	if d.reject != "" {
		ev.Kind, ev.Resources, ev.Err = status.EventRejected, d.invalid, brief(errors.New(d.reject))
		ses.event(ev)
	}
}

// count counts the results of a response.
func (d *decoded) count() {
	for i := range d.results {
		switch r := &d.results[i]; {
		case r.Update != nil:
			d.valid++
		case r.Removed:
			d.removed++
		}
	}
}

// switched records that the authority uses another server than before.
func (a *authorityScope) switched(now int, used bool) {
	before := a.active
	if a.active = now + 1; !used {
		a.active = 0
	}
	if before == 0 || a.active == 0 || before == a.active {
		return
	}
	ev := status.Event{Kind: status.EventFellBack, Authority: a.name, OldStyle: a == a.client.oldStyle}
	if a.active < before {
		ev.Kind = status.EventReturned
	}
	a.sessions[now].event(ev)
}

// timedOut records the resources that did not arrive in time, as one event for each type.
func (a *authorityScope) timedOut(list []authority.Resource) {
	for part := range byType(list) {
		a.sessions[part[0].Server].logTimeouts(part)
		a.resources(status.EventTimedOut, part)
	}
}

// missing records the resources that the server has stopped to send, as one event for each type.
func (a *authorityScope) missing(list []authority.Resource) {
	for part := range byType(list) {
		a.resources(status.EventMissing, part)
	}
}

// resources records an event about resources of one type.
func (a *authorityScope) resources(kind status.EventKind, list []authority.Resource) {
	a.sessions[list[0].Server].event(status.Event{
		Kind: kind, Authority: a.name, OldStyle: a == a.client.oldStyle, Type: list[0].Type.Name, Resources: len(list), Name: list[0].Name.String(),
	})
}

// byType yields the parts of a list with one type and one server.
func byType(list []authority.Resource) iter.Seq[[]authority.Resource] {
	return func(yield func([]authority.Resource) bool) {
		for len(list) > 0 {
			n := slices.IndexFunc(list, func(r authority.Resource) bool { return r.Type != list[0].Type || r.Server != list[0].Server })
			if n < 0 {
				n = len(list)
			}
			if !yield(list[:n]) {
				return
			}
			list = list[n:]
		}
	}
}
