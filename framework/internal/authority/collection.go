package authority

import (
	"slices"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// collection returns the watched collection that contains a name: its glob, or, for an old-style
// name, the wildcard.
func (t *typeRecords) collection(name xdstp.Name) (*record, bool) {
	if t.collections == 0 {
		return nil, false
	}
	key := resource.Wildcard
	if name.IsXdstp() {
		glob, ok := name.Glob()
		if !ok {
			return nil, false
		}
		key = glob.String()
	}
	c, ok := t.find(key)
	return c, ok && c.name != name
}

// gather adds the known resources as members when a collection is first watched.
func (m *Machine) gather(c *record) {
	for r := range c.records.byName.All() {
		if (r.update != nil || r.state == Nacked) && c.contains(r.name) {
			m.join(r, c)
		}
	}
}

// contains reports whether a collection contains a name, by the rules of typeRecords.collection.
func (r *record) contains(member xdstp.Name) bool {
	if r.name.IsGlob() {
		return r.name.Contains(member)
	}
	return !member.IsXdstp() && member != r.name
}

// scatter ends all memberships when a collection is no longer watched.
func (m *Machine) scatter(c *record) {
	m.keepRelease(c)
	for _, r := range c.members() {
		if r.extras.collection = nil; !r.watched() {
			m.discard(r)
		}
	}
	if c.extras != nil {
		c.extras.members = nil
	}
}

func (m *Machine) join(r, c *record) {
	all := c.own()
	r.own().collection, r.extras.member = c, len(all.members)
	all.members = append(all.members, r)
}

// leave ends a membership. A resource that is also watched by name keeps its record.
func (m *Machine) leave(r *record, why error) {
	c := r.collection()
	if c == nil {
		return
	}
	m.reportMember(r, resource.State{Err: why})
	r.extras.collection = nil
	all := c.extras
	last := len(all.members) - 1
	all.members[r.extras.member], all.members[last].extras.member = all.members[last], r.extras.member
	all.members[last] = nil
	all.members = all.members[:last]
	if !r.watched() {
		m.drop(r)
		m.discard(r)
	}
}

// introduce notifies a new watcher of a collection of the members.
func (m *Machine) introduce(c *record, w Watcher) {
	cw, ok := w.(CollectionWatcher)
	if !ok {
		return
	}
	for _, r := range c.members() {
		if s := m.stateOf(r); s.Known() {
			m.notify(cw, r.name, s)
		}
	}
}

func (m *Machine) reportMember(r *record, s resource.State) {
	for w := range r.collection().watchers() {
		if cw, ok := w.(CollectionWatcher); ok {
			m.notify(cw, r.name, s)
		}
	}
}

// answered records that the control plane has answered the subscription to a collection.
func (m *Machine) answered(c *record, state State, err *resource.Error) {
	c.timer = 0
	m.clearOverdue(c)
	confirmed := m.isStore(int(c.from)) && !m.isStore(m.choice.active)
	changed := confirmed && c.usable() || (c.err == nil) != (err == nil) || err != nil && c.err.Error() != err.Error()
	first := !c.usable() && state == Acked
	c.become(state, err)
	if err != nil {
		c.failed = m.now.UnixNano()
	}
	if state == Acked {
		c.from = uint8(m.choice.active) //nolint:gosec // below MaxServers
	}
	switch {
	case first:
		m.keepPut(c)
		m.arrived = append(m.arrived, c) // its members come first
	case changed:
		m.report(c)
	}
}

// answerWildcard decides whether a response answers the wildcard. A store answers with a member. A
// response of a live server answers it even if it is empty, but not if it is only about resources
// of other authorities (ADR 230). The server may still have merged an empty wildcard into such a
// response, so the machine repeats the wildcard once. After half of the timer, any response answers.
func (m *Machine) answerWildcard(t *typeRecords, resp *Response) {
	c, ok := t.find(resource.Wildcard)
	switch {
	case !ok || c.asked&(1<<resp.Server) == 0:
	case m.isStore(resp.Server) && !resp.hasMember(c):
	case !resp.Elsewhere || c.extras != nil && c.extras.halfOver:
		m.answered(c, Acked, nil)
	case c.timer != 0:
		m.late(c)
	}
}

// arrive notifies the watchers of collections that became usable with the current response.
func (m *Machine) arrive() {
	for i, c := range m.arrived {
		m.report(c)
		m.arrived[i] = nil
	}
	m.arrived = m.arrived[:0]
}

// emptied handles the removal of a glob collection's own name (TP1).
func (m *Machine) emptied(c *record) {
	for _, r := range slices.Clone(c.members()) {
		m.remove(r, errEmptied)
	}
	m.keepDelete(c)
	m.answered(c, DoesNotExist, m.fault(c, resource.ErrNotFound, errEmpty))
}
