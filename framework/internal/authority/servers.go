package authority

import (
	"errors"
	"time"

	"github.com/xdsforge/xdsforge/framework/internal/ads"
	"github.com/xdsforge/xdsforge/framework/resource"

	"github.com/xdsforge/xdsforge/internal/feature"
)

// choose carries out a choice of servers. It skips at once a server that is known to be
// unreachable.
func (m *Machine) choose(d decision) {
	for _, i := range d.drop {
		m.eachWatched(func(r *record) {
			r.asked &^= 1 << i
			m.change(i, ads.Unsubscribe, r)
		})
		if m.choice.active != noServer { // else nothing is watched, perhaps only briefly
			m.ready.Changes = append(m.ready.Changes, Change{i, ads.Change{Op: ads.Release}})
		}
	}
	for _, i := range d.use {
		if i > 0 {
			m.ready.Changes = append(m.ready.Changes, Change{i - 1, ads.Change{Op: ads.Renew}})
		}
		m.switched()
		m.eachWatched(func(r *record) {
			m.change(i, ads.Subscribe, r)
		})
		if m.down[i] != nil {
			m.choose(m.choice.failed(i, m.anyUnknown()))
		}
	}
}

func (m *Machine) eachWatched(f func(*record)) {
	for _, t := range m.types {
		for r := range t.byName.All() {
			if r.watched() {
				f(r)
			}
		}
	}
}

// anyUnknown reports whether something is watched about which no server has sent anything.
func (m *Machine) anyUnknown() bool {
	for _, t := range m.types {
		for r := range t.byName.All() {
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
// will not send that update again. Errors that came from the new server remain: it may not report
// again that a resource is removed.
func (m *Machine) switched() {
	m.restart()
	m.respondedAt = time.Time{}
	i := m.choice.active
	for _, t := range m.types {
		for r := range t.byName.All() {
			r.lastResponse, r.overdue = 0, false
			if r.askedOf(i) {
				m.await(r)
			}
			if r.err != nil && r.update != nil && int(r.from) == i && r.err.Server != m.config.Servers[i].URI() {
				r.become(Acked, nil)
				m.report(r)
			}
		}
	}
}

// await starts the timer of a resource at the server in use. A resource that it already sent needs
// none.
func (m *Machine) await(r *record) {
	i := m.choice.active
	sent := r.update != nil && int(r.from) == i || m.isStore(i) // it answers for each name
	answered := r.update == nil && r.state != Requested && r.state != Timeout
	if sent || answered || r.timer != 0 {
		return
	}
	m.timers.start(r, m.clock.read(m.now), m.wait())
	if r.extras != nil {
		r.extras.halfOver = false
	}
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
	t := m.recordsOf(names.Type)
	m.timers.reserve(len(names.Names))
	for _, name := range names.Names {
		r, ok := t.find(name)
		if !ok || !r.watched() {
			continue
		}
		r.asked |= 1 << server
		if server != m.choice.active {
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
		if t.record.isCollection() {
			t.record.own().halfOver = true
		}
	}
	for !m.clock.standing() {
		t, ok := m.timers.next()
		if !ok || m.clock.read(m.now).Before(t.at) {
			break
		}
		m.timedOut(t)
	}
	for len(m.lifetimes) > 0 && !m.now.Before(m.lifetimes[0].extras.expires) {
		m.expire(m.lifetimes[0])
	}
}

// late requests a resource again from the server in use after half of its timer. A member is
// requested with its collection.
func (m *Machine) late(r *record) {
	if r.watched() && !r.overdue {
		r.overdue = true
		m.change(m.choice.active, ads.Repeat, r)
	}
}

// clearOverdue records that the server in use has mentioned a resource.
func (m *Machine) clearOverdue(r *record) {
	if r.overdue {
		r.overdue = false
		m.change(m.choice.active, ads.Answered, r)
	}
}

// timedOut handles an expired does-not-exist timer.
func (m *Machine) timedOut(t timer) {
	r := t.record
	r.timer = 0
	m.ready.TimedOut = append(m.ready.TimedOut, Resource{m.choice.active, r.records.typ, r.name})
	switch {
	case m.active(feature.ResourceTimerIsTransientError):
		m.setError(r, Timeout, m.fault(r, resource.ErrTimeout, nil))
	case r.update != nil:
		m.remove(r, errNotHere)
	default:
		m.setError(r, DoesNotExist, m.fault(r, resource.ErrNotFound, errNoAnswer))
		if m.respondedAt.Before(t.at.Add(-t.wait)) {
			r.unconfirmed, m.guessed = true, true
		} else {
			m.keepDelete(r)
		}
	}
}

// confirmTimeouts confirms all unconfirmed timeouts: the server is alive, and has not sent the resources in time.
func (m *Machine) confirmTimeouts() {
	m.respondedAt = m.clock.read(m.now)
	if !m.guessed {
		return
	}
	m.guessed = false
	for _, t := range m.types {
		for r := range t.byName.All() {
			r.unconfirmed = false
		}
	}
}

// StreamEnded reports that a server's stream has ended. If err is not nil, the server is unreachable.
// Watchers are notified once per outage, and again if err differs from the previous one: neither
// errors.Is holds nor are the texts equal.
func (m *Machine) StreamEnded(server int, err error, now time.Time) {
	m.now = now
	active := server == m.choice.active
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
	if !m.choice.used(server) {
		return
	}
	before := m.choice.active
	m.choose(m.choice.failed(server, m.anyUnknown()))
	after, last := m.choice.active, m.live()
	known := server == last && before == after && old != nil && alike(err, old)
	if m.exhausted() && (server == last || before != after) && !known {
		m.reportUndisturbed(m.cutOff)
	}
}

// alike reports whether two errors are of one kind or have the same text.
func alike(a, b error) bool { return errors.Is(a, b) || a.Error() == b.Error() }

// Idle reports that the client has had no subscriptions at a server lately, so that it does not know
// whether the server is reachable.
func (m *Machine) Idle(server int) {
	m.down[server] = nil
	m.choice.healthy(server)
}

// Healthy reports that a server is reachable.
func (m *Machine) Healthy(server int, now time.Time) {
	m.now = now
	if m.down[server] == nil {
		return
	}
	m.down[server] = nil
	m.choice.healthy(server)
	if server == m.choice.active {
		m.relieve()
	}
}

// relieve ends the report that no server is reachable.
func (m *Machine) relieve() {
	if !m.troubled || m.exhausted() {
		return
	}
	m.troubled = false
	m.reportUndisturbed(func(r *record) bool {
		return (r.update != nil || r.isCollection() && r.state == Acked) && !m.isStore(int(r.from))
	})
}

// reportUndisturbed notifies the watchers of those resources without a data error. A data error
// replaces a transport error.
func (m *Machine) reportUndisturbed(which func(*record) bool) {
	for _, t := range m.types {
		for r := range t.byName.All() {
			if r.err == nil && which(r) {
				m.report(r)
			}
		}
	}
}

// expire ends the use of an update whose time to live is over. Only a live server can report that the
// resource no longer exists.
func (m *Machine) expire(r *record) {
	if m.unconfirmed(r) && m.exhausted() {
		m.drop(r)
		r.become(Requested, nil)
		m.report(r)
		return
	}
	err := m.fault(r, resource.ErrRemoved, errExpired)
	m.keepDelete(r)
	m.drop(r)
	m.leave(r, err)
	m.setError(r, DoesNotExist, err)
}

// drop ends the use of an update.
func (m *Machine) drop(r *record) {
	if r.update == nil {
		return
	}
	m.keepRelease(r)
	m.forget(r)
	r.records.release(r, nil)
	m.lifetimes.set(r, time.Time{})
}
