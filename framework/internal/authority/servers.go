package authority

import (
	"errors"
	"time"

	"github.com/xdsforge/xdsforge/framework/internal/ads"
	"github.com/xdsforge/xdsforge/framework/internal/fallback"
	"github.com/xdsforge/xdsforge/framework/resource"

	"github.com/xdsforge/xdsforge/internal/feature"
)

// choose carries out a choice of servers. It skips at once a server that is known to be
// unreachable.
func (m *Machine) choose(d fallback.Decision) {
	for _, i := range d.Drop {
		m.eachWatched(func(r *record) {
			r.asked &^= 1 << i
			m.change(i, ads.Unsubscribe, r)
		})
		if m.choice.Active() != fallback.None { // else nothing is watched, perhaps only briefly
			m.ready.Changes = append(m.ready.Changes, Change{i, ads.Change{Op: ads.Release}})
		}
	}
	for _, i := range d.Use {
		if i > 0 {
			m.ready.Changes = append(m.ready.Changes, Change{i - 1, ads.Change{Op: ads.Renew}})
		}
		m.switched()
		m.eachWatched(func(r *record) {
			m.change(i, ads.Subscribe, r)
		})
		if m.down[i] != nil {
			m.choose(m.choice.Failed(i, m.anyUnknown()))
		}
	}
}

func (m *Machine) eachWatched(f func(*record)) {
	for _, t := range m.tables {
		for _, r := range t.records {
			if r.watched() {
				f(r)
			}
		}
	}
}

// anyUnknown reports whether something is watched about which no server has sent anything.
func (m *Machine) anyUnknown() bool {
	for _, t := range m.tables {
		for _, r := range t.records {
			if r.watched() && r.unknown() {
				return true
			}
		}
	}
	return false
}

// switched starts to use another server. It clears the mentions of the previous server, and starts
// the timers of resources that have already been requested from the new one. It clears errors from
// the previous server if the update came from the new one: in the delta protocol, the new server
// will not send that update again.
func (m *Machine) switched() {
	m.restart()
	m.heardAt = time.Time{}
	i := m.choice.Active()
	for _, t := range m.tables {
		for _, r := range t.records {
			r.seen, r.overdue = 0, false
			if r.askedOf(i) {
				m.await(r)
			}
			if r.err != nil && r.update != nil && int(r.from) == i {
				r.become(Acked, nil)
				m.tell(r)
			}
		}
	}
}

// await starts the timer of a resource at the server in use. A resource that it already sent needs
// none.
func (m *Machine) await(r *record) {
	i := m.choice.Active()
	sent := r.update != nil && int(r.from) == i
	answered := r.update == nil && r.state != Requested && r.state != Timeout
	if sent || answered || r.timer != 0 {
		return
	}
	m.timers.start(r, m.clock.read(m.now), m.wait())
}

// wait returns the time in which the server in use must send a resource.
func (m *Machine) wait() time.Duration {
	if m.active(feature.ResourceTimerIsTransientError) {
		return ResourceTimeoutTransient
	}
	return ResourceTimeout
}

// Requested reports that a request with the names was sent on the current stream of a server.
func (m *Machine) Requested(server int, names ads.Names, now time.Time) {
	m.now = now
	t := m.table(names.Type)
	m.timers.reserve(len(names.Names))
	for _, name := range names.Names {
		r, ok := t.records[name]
		if !ok || !r.watched() {
			continue
		}
		r.asked |= 1 << server
		if server != m.choice.Active() {
			continue
		}
		m.await(r)
		for _, member := range r.members() {
			m.await(member)
		}
	}
}

// Tick handles the timers that are due. It is due at the time of NextDeadline.
func (m *Machine) Tick(now time.Time) {
	m.now = now
	for !m.clock.standing() {
		t, ok := m.timers.nextHalf()
		if !ok || m.clock.read(m.now).Before(t.half()) {
			break
		}
		m.timers.halved++
		m.late(t.record)
	}
	for !m.clock.standing() {
		t, ok := m.timers.next()
		if !ok || m.clock.read(m.now).Before(t.at) {
			break
		}
		m.timedOut(t)
	}
	for len(m.lifetimes) > 0 && !m.now.Before(m.lifetimes[0].rare.expires) {
		m.expire(m.lifetimes[0])
	}
}

// late requests a resource again from the server in use after half of its timer. A member is
// requested with its collection.
func (m *Machine) late(r *record) {
	if r.watched() && !r.overdue {
		r.overdue = true
		m.change(m.choice.Active(), ads.Repeat, r)
	}
}

// heard records that the server in use has mentioned a resource.
func (m *Machine) heard(r *record) {
	if r.overdue {
		r.overdue = false
		m.change(m.choice.Active(), ads.Answered, r)
	}
}

// timedOut handles an expired does-not-exist timer.
func (m *Machine) timedOut(t timer) {
	r := t.record
	r.timer = 0
	if r.isCollection() || r.name.IsCollection() {
		m.ready.Unanswered = append(m.ready.Unanswered, Resource{m.choice.Active(), r.table.typ, r.name})
	}
	switch {
	case m.active(feature.ResourceTimerIsTransientError):
		m.setError(r, Timeout, m.fault(r, resource.ErrTimeout, nil))
	case r.update != nil:
		m.remove(r, errNotHere)
	default:
		m.setError(r, DoesNotExist, m.fault(r, resource.ErrNotFound, errNoAnswer))
		if m.heardAt.Before(t.at.Add(-t.wait)) {
			r.doubted, m.doubts = true, true
		}
	}
}

// trust confirms all doubted timeouts: the server is alive, and has not sent the resources in time.
func (m *Machine) trust() {
	m.heardAt = m.clock.read(m.now)
	if !m.doubts {
		return
	}
	m.doubts = false
	for _, t := range m.tables {
		for _, r := range t.records {
			r.doubted = false
		}
	}
}

// StreamEnded reports that a server's stream has ended. If err is not nil, the server is unreachable.
// Watchers are notified once per outage, and again if err differs from the previous one: neither
// errors.Is holds nor are the texts equal.
func (m *Machine) StreamEnded(server int, err error, now time.Time) {
	m.now = now
	active := server == m.choice.Active()
	m.eachWatched(func(r *record) {
		r.asked &^= 1 << server
		r.overdue = r.overdue && !active
	})
	if active {
		m.restart()
	}
	if err == nil {
		return
	}
	old := m.down[server]
	m.down[server] = err
	if !m.choice.Used(server) {
		return
	}
	before := m.choice.Active()
	m.choose(m.choice.Failed(server, m.anyUnknown()))
	after := m.choice.Active()
	known := server == after && before == after && old != nil && alike(err, old)
	if m.choice.Exhausted() && (server == after || before != after) && !known {
		m.tellUndisturbed(func(*record) bool { return true })
	}
}

// alike reports whether two errors are of one kind or have the same text.
func alike(a, b error) bool { return errors.Is(a, b) || a.Error() == b.Error() }

// Idle reports that the client has had no subscriptions at a server lately, so that it does not know
// whether the server is reachable.
func (m *Machine) Idle(server int) {
	m.down[server] = nil
	m.choice.Healthy(server)
}

// Healthy reports that a server is reachable.
func (m *Machine) Healthy(server int, now time.Time) {
	m.now = now
	if m.down[server] == nil {
		return
	}
	m.down[server] = nil
	m.choice.Healthy(server)
	if server == m.choice.Active() {
		m.relieve()
	}
}

// relieve ends the report that no server is reachable.
func (m *Machine) relieve() {
	if !m.troubled || m.choice.Exhausted() {
		return
	}
	m.troubled = false
	m.tellUndisturbed(func(r *record) bool { return r.update != nil || r.isCollection() && r.state == Acked })
}

// tellUndisturbed notifies the watchers of those resources without a data error. A data error
// replaces a transport error.
func (m *Machine) tellUndisturbed(which func(*record) bool) {
	for _, t := range m.tables {
		for _, r := range t.records {
			if r.err == nil && which(r) {
				m.tell(r)
			}
		}
	}
}

// expire ends the use of an update whose time to live is over.
func (m *Machine) expire(r *record) {
	err := m.fault(r, resource.ErrRemoved, errExpired)
	m.drop(r)
	m.leave(r, err)
	m.setError(r, DoesNotExist, err)
}

// drop ends the use of an update.
func (m *Machine) drop(r *record) {
	if r.update == nil {
		return
	}
	m.forget(r)
	r.table.release(r, nil)
	m.lifetimes.set(r, time.Time{})
}
