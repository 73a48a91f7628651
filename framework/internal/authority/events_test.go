package authority

import (
	"time"

	"github.com/xdsforge/xdsforge/framework/internal/ads"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// The events and effects of the tests that drive a machine step by step.
type (
	event interface {
		apply(m *Machine, now time.Time)
	}
	effect any

	evWatch struct {
		Type    *resource.Descriptor
		Name    xdstp.Name
		Watcher Watcher
		Record  *Handle
	}
	evCancel struct {
		Type    *resource.Descriptor
		Name    xdstp.Name
		Watcher Watcher
		Record  Handle
	}
	evAsked struct {
		Server int
		Type   *resource.Descriptor
		Names  []string
	}
	evStale evAsked
	evLost  struct {
		Server int
		Err    error
	}
	evHealthy struct{ Server int }
	evIdle    struct{ Server int }
	evPause   struct {
		Server int
		Since  time.Time
	}
	evResume struct{ Server int }
	evTick   struct{}

	change struct {
		Server int
		Type   *resource.Descriptor
		Name   string
	}
	efSubscribe   change
	efUnsubscribe change
	efRepeat      change
	efAnswered    change
	efForget      change
	efRenew       struct{ Server int }
	efRelease     struct{ Server int }
	efUnused      Resource
	efUnanswered  Resource
)

func (e evWatch) apply(m *Machine, now time.Time) {
	h := m.Watch(e.Type, e.Name, e.Watcher, now)
	if e.Record != nil {
		*e.Record = h
	}
}

func (e evCancel) apply(m *Machine, now time.Time) {
	if e.Record.r == nil {
		e.Record.r = m.table(e.Type).records[e.Name.String()]
	}
	m.Cancel(e.Record, e.Watcher, now)
}

func (e evAsked) apply(m *Machine, now time.Time) {
	m.Requested(e.Server, ads.Names{Type: e.Type, Names: e.Names}, now)
}

func (e evStale) apply(m *Machine, now time.Time) {
	m.Stale(e.Server, ads.Names{Type: e.Type, Names: e.Names}, now)
}
func (e Response) apply(m *Machine, now time.Time)  { m.Received(&e, now) }
func (e evLost) apply(m *Machine, now time.Time)    { m.StreamEnded(e.Server, e.Err, now) }
func (e evHealthy) apply(m *Machine, now time.Time) { m.Healthy(e.Server, now) }
func (e evIdle) apply(m *Machine, _ time.Time)      { m.Idle(e.Server) }
func (e evPause) apply(m *Machine, _ time.Time)     { m.Pause(e.Server, e.Since) }
func (e evResume) apply(m *Machine, now time.Time)  { m.Resume(e.Server, now) }
func (evTick) apply(m *Machine, now time.Time)      { m.Tick(now) }

// do handles an event, delivers the notices, and returns the other effects.
func (r *rig) do(ev event) (list []effect) {
	ev.apply(r.m, r.now)
	ready := r.m.Ready()
	for _, c := range ready.Changes {
		x := change{c.Server, c.Type, c.Name}
		switch c.Op {
		case ads.Subscribe:
			list = append(list, efSubscribe(x))
		case ads.Unsubscribe:
			list = append(list, efUnsubscribe(x))
		case ads.Forget:
			list = append(list, efForget(x))
		case ads.Repeat:
			list = append(list, efRepeat(x))
		case ads.Answered:
			list = append(list, efAnswered(x))
		case ads.Renew:
			list = append(list, efRenew{c.Server})
		case ads.Release:
			list = append(list, efRelease{c.Server})
		}
	}
	for _, u := range ready.Unused {
		list = append(list, efUnused(u))
	}
	for _, u := range ready.Unanswered {
		list = append(list, efUnanswered(u))
	}
	for _, n := range ready.Notices {
		n.Deliver()
	}
	r.checkCounts()
	return list
}
