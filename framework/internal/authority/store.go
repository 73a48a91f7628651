package authority

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// The last server of an authority may be a last known good store. It differs from live servers in
// these rules:
//
//   - It answers for each name at once, so that no timer runs.
//   - It answers only for resources about which no live server has sent anything. It never replaces
//     an update of a live server.
//   - It never says that a resource does not exist. Without an answer of the store, watchers are
//     notified that the live servers are unreachable.
//   - Its updates have an ambient error until a live server confirms them.

var (
	errNotConfirmed = errors.New("no control plane has responded yet")
	errStored       = errors.New("the update is from the last known good store, and no control plane has confirmed it")
)

// A StoreOp is the kind of a [Stored].
type StoreOp uint8

// The kinds of changes for the store.
const (
	StorePut     StoreOp = iota // a live server sent the resource, or confirmed it
	StoreDelete                 // the live servers do not have it, or deny access
	StoreRelease                // it is no longer watched, or no longer in use
)

// A Stored is a change for the last known good store.
type Stored struct {
	Op   StoreOp
	Type *resource.Descriptor
	Name xdstp.Name // as it is watched
	// Update is the update of StorePut; nil for a collection.
	Update  resource.Update
	Version string
	Expires time.Time
}

// isStore reports whether a server is the last known good store.
func (m *Machine) isStore(server int) bool {
	return m.config.Store && server == len(m.config.Servers)-1
}

// live returns the live server in use: the last one while the store is in use.
func (m *Machine) live() int {
	if i := m.choice.active; !m.isStore(i) {
		return i
	}
	return m.choice.active - 1
}

// exhausted reports whether no live server is left to try.
func (m *Machine) exhausted() bool { return m.choice.exhausted() || m.isStore(m.choice.active) }

// cutOff reports whether watchers of a resource must be notified that no live server is reachable.
// While the store is in use, they wait for its answer.
func (m *Machine) cutOff(r *record) bool {
	if !m.isStore(m.choice.active) {
		return m.choice.exhausted()
	}
	return r.update != nil || r.isCollection() && r.usable() || r.lastResponse != 0 || m.choice.exhausted()
}

// unconfirmed reports whether the update of a record is from the store.
func (m *Machine) unconfirmed(r *record) bool { return r.update != nil && m.isStore(int(r.from)) }

// whyDown returns the reason why the live server in use is unreachable.
func (m *Machine) whyDown() error {
	if err := m.down[m.live()]; err != nil {
		return err
	}
	return errNotConfirmed
}

// whyStored returns the reason why a stored update is in use.
func (m *Machine) whyStored() error {
	if m.live() == noServer || !m.exhausted() {
		return errStored
	}
	return fmt.Errorf("%w: %w", errStored, m.whyDown())
}

// restore handles the answer of the store for a resource.
func (m *Machine) restore(r *record, res Result) {
	switch {
	case r.update != nil && !m.unconfirmed(r), r.update == nil && !r.unknown(): // a live server answered
	case res.Update != nil && !r.isCollection():
		m.accept(r, res)
	case r.update == nil && r.err == nil:
		r.timer = 0
		m.report(r)
	}
}

// hasMember reports whether a response has an update of a member of a collection.
func (resp *Response) hasMember(c *record) bool {
	return slices.ContainsFunc(resp.Results, func(r Result) bool { return r.Update != nil && c.contains(r.Name) })
}

// Reachable reports whether a live server is in use that is not known to be unreachable.
func (m *Machine) Reachable() bool {
	i := m.choice.active
	return i != noServer && !m.isStore(i) && m.down[i] == nil
}

// Settled reports whether the control plane has answered for every watched resource, or had the time
// to do so.
func (m *Machine) Settled() bool {
	for _, t := range m.types {
		if t.counts[2*Requested] > 0 {
			return false
		}
	}
	return true
}

// keepPut emits the use of a resource of a live server.
func (m *Machine) keepPut(r *record) {
	if !m.config.Store || m.isStore(int(r.from)) {
		return
	}
	s := Stored{Op: StorePut, Type: r.records.typ, Name: r.name, Update: r.update, Version: r.lastVersion()}
	if r.expires() {
		s.Expires = r.extras.expires
	}
	m.ready.Stored = append(m.ready.Stored, s)
}

// keepDelete emits that the live servers do not have a resource.
func (m *Machine) keepDelete(r *record) {
	if m.config.Store && !m.isStore(m.choice.active) {
		m.ready.Stored = append(m.ready.Stored, Stored{Op: StoreDelete, Type: r.records.typ, Name: r.name})
	}
}

// keepRelease emits the end of the use of a resource.
func (m *Machine) keepRelease(r *record) {
	if m.config.Store && !m.isStore(int(r.from)) {
		m.ready.Stored = append(m.ready.Stored, Stored{Op: StoreRelease, Type: r.records.typ, Name: r.name})
	}
}
