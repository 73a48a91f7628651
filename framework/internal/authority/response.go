package authority

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/xdsforge/xdsforge/framework/internal/ads"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"

	"github.com/xdsforge/xdsforge/internal/feature"
)

var (
	errNoAnswer = errors.New("the control plane did not send it in time after it was asked for")
	errNotHere  = errors.New("the control plane that is in use now did not send it in time; another one had")
	errAbsent   = errors.New("it is missing from a response that names every resource")
	errSaid     = errors.New("the control plane says that it does not have it")
	errTaken    = errors.New("the control plane took it away")
	errStale    = errors.New("the control plane sent what it has after the stream came back, and not this")
	errExpired  = errors.New("its time to live is over")
	errEmpty    = errors.New("the collection is empty")
	errEmptied  = errors.New("its collection is empty")
)

// Codes of google.rpc.Code that are data errors (gRFC A88).
const (
	codeNotFound         = 5
	codePermissionDenied = 7
)

// A Want reports whether a resource of a response is watched.
type Want uint8

const (
	// Unwanted resources are neither watched nor members of a watched collection. Events about them
	// have no effect.
	Unwanted Want = iota
	// Wanted resources are watched by their name or an alias, or are members of a watched
	// collection.
	Wanted
	// Excessive resources would be members of a collection that is at its limit.
	Excessive
)

// Wants reports whether the resource of a result is wanted. If it has a record, Wants sets the record of
// the result, and its name to that of the record, so that the update shares its text. The response is
// any number that distinguishes the responses in progress: the new members in one response count
// together.
func (m *Machine) Wants(typ *resource.Descriptor, res *Result, response uint64) Want {
	t := m.recordsOf(typ)
	key := res.Name.String()
	if r, ok := t.find(key); ok {
		res.Name, res.Record, res.New = r.name, Handle{r}, r.update == nil && len(t.aliased[key]) == 0
		return Wanted
	}
	if len(t.aliased[key]) > 0 {
		return Wanted
	}
	if slices.ContainsFunc(res.Aliases, func(a xdstp.Name) bool { _, ok := t.find(a.String()); return ok }) {
		return Wanted
	}
	c, ok := t.collection(res.Name)
	if !ok {
		return Unwanted
	}
	x := c.own()
	if x.response != response {
		x.response, x.promised = response, 0
	}
	if len(x.members)+x.promised >= m.config.MaxMembers {
		return Excessive
	}
	x.promised++
	return Wanted
}

// Generation returns a number that grows when the machine begins to want another resource of a
// type.
func (m *Machine) Generation(typ *resource.Descriptor) uint64 { return m.recordsOf(typ).generation }

// Received applies a response. It ignores resources that nobody watches (gRFC A27), and uses the
// valid resources of a rejected response (gRFC A46). It ignores a response of a server that another
// one has replaced (gRFC A71).
func (m *Machine) Received(resp *Response, now time.Time) {
	m.now = now
	m.down[resp.Server] = nil
	before := m.choice.active
	d, counts := m.choice.responded(resp.Server)
	m.choose(d)
	if !counts {
		return
	}
	if m.choice.active != before {
		m.switched()
	}
	if !m.isStore(resp.Server) {
		m.confirmTimeouts()
		m.relieve()
	}
	t := m.recordsOf(resp.Type)
	m.responses++
	if m.responses == 0 {
		m.responses++ // 0 is for records that no response has mentioned
	}
	m.answerWildcard(t, resp)
	m.mentioned = 0
	m.ready.Notices = slices.Grow(m.ready.Notices, len(resp.Results))
	m.unchanged(t, resp.Unchanged, resp.Version)
	for i := range resp.Results {
		m.result(t, &resp.Results[i])
	}
	if resp.Type.Complete && !resp.Partial && m.mentioned < t.byName.Len() {
		var absent []*record
		for r := range t.byName.All() {
			sent := r.lastResponse != 0 || r.isStray() || r.update != nil && int(r.from) == resp.Server
			failed := r.state == ReceivedError && (r.update != nil || r.watched())
			if r.lastResponse != m.responses && sent && !failed {
				absent = append(absent, r)
			}
		}
		for _, r := range absent { // a member may be discarded, which changes the table
			m.remove(r, errAbsent)
		}
	}
	m.arrive()
}

// unchanged skips resources whose update is in use without errors.
func (m *Machine) unchanged(t *typeRecords, list []Unchanged, version string) {
	active := m.choice.active
	shared := m.shared(version)
	for i := range list {
		u := &list[i]
		r := u.Record.r
		switch {
		case r == nil || r.gone || r.update != u.Update:
			// Its record is unknown, or another resource is there.
			res := Result{Name: u.Update.Name(), Update: u.Update, Version: version}
			if r == nil || r.records == t || r.gone {
				m.result(t, &res)
				u.Record = res.Record
			}
		case r.records != t:
		case r.err != nil || r.timer != 0 || int(r.from) != active || r.expires() || len(t.aliased) > 0:
			m.result(t, &Result{Name: u.Update.Name(), Update: u.Update, Version: version})
		default:
			r.version = shared
			m.mention(r)
			if c := r.collection(); c != nil && c.name.IsGlob() {
				m.answered(c, Acked, nil)
			}
		}
	}
}

// mention records that the current response contains the resource.
func (m *Machine) mention(r *record) {
	if r.lastResponse != m.responses {
		r.lastResponse = m.responses
		m.mentioned++
	}
}

func (m *Machine) result(t *typeRecords, res *Result) {
	m.enter(t, res)
	fromStore := m.isStore(m.choice.active)
	t.named(res, func(r *record) {
		m.mention(r)
		m.clearOverdue(r)
		if r.name == res.Name {
			res.Record = Handle{r}
		}
		switch {
		case fromStore:
			m.restore(r, *res)
		case res.Error != nil:
			m.refused(r, *res.Error)
		case res.Removed && r.isCollection():
			m.emptied(r)
		case r.isCollection(): // no resource can have such a name
		case res.Removed:
			m.remove(r, errTaken)
		case res.Heartbeat:
			m.beat(r, *res)
		case res.Err != nil:
			r.own().rejected, r.extras.rejectedAt = res.Version, m.now
			m.keepMessage(r, res.Message)
			m.reject(r, res.Err)
		default:
			m.accept(r, *res)
		}
	})
}

// enter makes the resource of a result a member of its collection, and answers a glob by it. An error does so, too: the
// resource may exist. One that says that there is no resource only answers the glob.
func (m *Machine) enter(t *typeRecords, res *Result) {
	c, ok := t.collection(res.Name)
	if !ok || res.Removed || res.Heartbeat || res.Update == nil && m.isStore(m.choice.active) {
		return
	}
	r, found := t.find(res.Name.String())
	if res.Error != nil && found && r.watched() && (c.extras == nil || !c.extras.halfOver) {
		return // it may answer the name alone, until the glob was repeated
	}
	if c.name.IsGlob() {
		m.answered(c, Acked, nil)
	}
	if res.Error != nil && res.Error.isData() {
		return
	}
	if !found {
		if len(c.members()) >= m.config.MaxMembers {
			return
		}
		r, _ = t.record(&record{records: t, name: res.Name})
	}
	if r.collection() == nil {
		m.join(r, c)
	}
}

// accept takes a valid resource into use. If it is already in use, watchers are notified only if
// that clears an error.
func (m *Machine) accept(r *record, res Result) {
	u := res.Update
	r.timer = 0
	same := r.update == u && int(r.from) == m.choice.active
	changed := r.update != u || r.err != nil
	if r.update != nil && int(r.from) != m.choice.active {
		moved := m.origin(int(r.from)) != m.origin(m.choice.active)
		m.forget(r)
		if equal, ok := r.records.shard.(interface {
			Equal(a, b resource.Update) bool
		}); ok && r.err == nil {
			changed = moved || !equal.Equal(r.update, u)
		}
	}
	r.become(Acked, nil)
	m.keepMessage(r, nil)
	r.from = uint8(m.choice.active) //nolint:gosec // below MaxServers
	r.version = m.shared(res.Version)
	if r.update != u {
		r.updated = m.now.UnixNano()
		r.records.use(r, u)
	}
	m.renew(r, res.TTL)
	if !same || res.TTL > 0 {
		m.keepPut(r)
	}
	if changed {
		m.report(r)
	}
}

// shared returns the version, with the memory of the last one if both are equal: a response has
// many resources.
func (m *Machine) shared(version string) *string {
	if m.version == nil || *m.version != version {
		v := version // a parameter whose address is kept would be allocated with each call
		m.version = &v
	}
	return m.version
}

// renew restarts the time to live. Zero means that there is none any longer.
func (m *Machine) renew(r *record, ttl time.Duration) {
	at := time.Time{}
	if ttl > 0 {
		at = m.now.Add(ttl)
	}
	m.lifetimes.set(r, at)
}

// beat handles a heartbeat. It refers to the version in use, or has no effect. A heartbeat for an
// expired resource means that the resource still exists: the machine requests it again.
func (m *Machine) beat(r *record, res Result) {
	i := m.choice.active
	switch {
	case r.update != nil && (res.Version == r.lastVersion() || res.Version == ""):
		m.renew(r, res.TTL)
		m.keepPut(r)
	case r.update == nil && r.state == DoesNotExist && r.watched():
		m.change(i, ads.Unsubscribe, r)
		m.change(i, ads.Subscribe, r)
	}
}

func (m *Machine) reject(r *record, cause error) {
	if r.update == nil && !r.watched() {
		cause = clipped(cause)
	}
	m.dataError(r, Nacked, m.fault(r, resource.ErrInvalid, cause))
}

// maxMemberError is the limit of the error text of a member that never was valid. There may be many
// of them.
const maxMemberError = 256

// clipped returns an error with only the beginning of the text of err.
func clipped(err error) error {
	text := err.Error()
	if len(text) > maxMemberError {
		text = strings.ToValidUTF8(text[:maxMemberError], "") + "…"
	}
	return errors.New(strings.Clone(text))
}

// remove records that the control plane does not have a resource, or not any longer. Only a
// collection always drops a removed member.
func (m *Machine) remove(r *record, why error) {
	if r.update == nil && r.state == DoesNotExist {
		return
	}
	if r.state != DoesNotExist && (why == errAbsent || why == errStale) { //nolint:errorlint // the callers pass these values
		m.ready.Missing = append(m.ready.Missing, Resource{m.choice.active, r.records.typ, r.name})
	}
	m.keepDelete(r)
	err := m.fault(r, resource.ErrRemoved, why)
	if known := r.state == Nacked || r.err != nil && errors.Is(r.err, resource.ErrRemoved); r.update == nil && !known {
		err = m.fault(r, resource.ErrNotFound, errSaid)
	}
	m.leave(r, err)
	m.dataError(r, DoesNotExist, err)
}

// isData reports whether the error says that there is no resource for the client (gRFC A88).
func (e *ServerError) isData() bool { return e.Code == codeNotFound || e.Code == codePermissionDenied }

// refused handles an error of the control plane for a resource (xRFC TP3, gRFC A88).
func (m *Machine) refused(r *record, e ServerError) {
	cause := fmt.Errorf("the control plane says: %q (code %d)", e.Message, e.Code)
	if r.update == nil && !r.watched() {
		cause = clipped(cause)
	}
	var err *resource.Error
	switch e.Code {
	case codeNotFound:
		kind := resource.ErrNotFound
		if r.update != nil {
			kind = resource.ErrRemoved
		}
		m.keepDelete(r)
		err = m.fault(r, kind, cause)
		m.leave(r, err)
	case codePermissionDenied:
		m.keepDelete(r)
		err = m.fault(r, resource.ErrDenied, cause)
	default:
		m.setError(r, ReceivedError, m.fault(r, resource.ErrUnavailable, cause))
		return
	}
	m.dataError(r, ReceivedError, err)
}

// dataError sets the error of a resource. A cached update stays in use, unless the server has the
// feature fail_on_data_errors (gRFC A88).
func (m *Machine) dataError(r *record, state State, err *resource.Error) {
	if r.update != nil && (m.config.FailOnDataErrors || m.active(feature.FailOnDataErrors)) {
		m.drop(r)
		r.err = nil // the ambient error is now a failure and must be reported
	}
	m.setError(r, state, err)
}

// setError sets an error and notifies watchers, unless it is a duplicate.
func (m *Machine) setError(r *record, state State, err *resource.Error) {
	r.timer, r.unconfirmed = 0, false
	if state != Nacked {
		m.keepMessage(r, nil)
	}
	known := r.state == state && r.err != nil && r.err.Error() == err.Error()
	r.become(state, err)
	r.failed = m.now.UnixNano()
	if !known {
		m.report(r)
	}
}

// Stale reports that a server no longer has the resources, although it did not say so.
func (m *Machine) Stale(server int, names ads.Names, now time.Time) {
	m.now = now
	if server != m.choice.active {
		return
	}
	t := m.recordsOf(names.Type)
	for _, name := range names.Names {
		if r, ok := t.find(name); ok {
			m.remove(r, errStale)
		}
		for _, r := range slices.Clone(t.aliased[name]) {
			m.remove(r, errStale)
		}
	}
}
