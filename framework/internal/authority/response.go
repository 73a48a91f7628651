package authority

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
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

// response applies what a response said. Resources that nobody watches are
// passed over (gRFC A27); the valid ones of a rejected response are used (gRFC
// A46). What a server says that another one has taken over from is too late (gRFC
// A71).
func (m *Machine) response(ev Response) {
	m.down[ev.Server] = nil
	before := m.choice.Active()
	d, counts := m.choice.Responded(ev.Server)
	m.choose(d)
	if !counts {
		return
	}
	if m.choice.Active() != before {
		m.switched()
	}
	m.trust()
	m.relieve()
	t := m.table(ev.Type)
	m.responses++
	if m.responses == 0 {
		m.responses++ // 0 is for records that no response has mentioned
	}
	if c, ok := t.records[resource.Wildcard]; ok && c.asked&(1<<ev.Server) != 0 {
		m.answered(c, Acked, nil)
	}
	m.mentioned = 0
	m.unchanged(t, ev.Unchanged, ev.Version)
	for i := range ev.Results {
		m.result(t, &ev.Results[i])
	}
	if ev.Type.Complete && !ev.Partial && m.mentioned < len(t.records) {
		for _, r := range t.records {
			sent := r.seen != 0 || r.isStray() || r.update != nil && int(r.from) == ev.Server
			if r.seen != m.responses && sent && r.state != ReceivedError {
				m.remove(r, errAbsent)
			}
		}
	}
	m.arrive()
}

// unchanged passes over what is in use and in order.
func (m *Machine) unchanged(t *table, list []Unchanged, version string) {
	active := m.choice.Active()
	shared := m.shared(version)
	for i := range list {
		u := &list[i]
		r := u.Place.r
		switch {
		case r == nil || r.gone || r.update != u.Update:
			// Its place is not known, or something else is in it.
			res := Result{Name: u.Update.Name(), Update: u.Update, Version: version}
			if r == nil || r.table == t || r.gone {
				m.result(t, &res)
				u.Place = res.Place
			}
		case r.table != t:
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

// mention notes that the response at hand has the resource.
func (m *Machine) mention(r *record) {
	if r.seen != m.responses {
		r.seen = m.responses
		m.mentioned++
	}
}

func (m *Machine) result(t *table, res *Result) {
	c, isMember := t.collection(res.Name)
	if isMember && !res.Removed && !res.Heartbeat && res.Error == nil {
		if c.name.IsGlob() {
			m.answered(c, Acked, nil)
		}
		if r, ok := t.records[res.Name.String()]; !ok && len(c.members()) >= m.config.MaxMembers {
			return
		} else if !ok {
			r = &record{table: t, name: res.Name}
			t.records[res.Name.String()] = r
			m.join(r, c)
		} else if r.collection() == nil {
			m.join(r, c)
		}
	}
	t.named(res.Name, res.Aliases, func(r *record) {
		m.mention(r)
		m.heard(r)
		if r.name == res.Name {
			res.Place = Place{r}
		}
		switch {
		case res.Error != nil:
			m.refused(r, *res.Error)
		case res.Removed && r.isCollection():
			m.emptied(r)
		case r.isCollection(): // no resource has such a name
		case res.Removed:
			m.remove(r, errTaken)
		case res.Heartbeat:
			m.beat(r, *res)
		case res.Err != nil:
			r.own().rejected, r.rare.rejectedAt = res.Version, m.now
			m.reject(r, res.Err)
		default:
			m.accept(r, *res)
		}
	})
}

// accept takes a valid resource into use. One that is in use already is told
// only if that clears an error.
func (m *Machine) accept(r *record, res Result) {
	u := res.Update
	r.timer = 0
	news := r.update != u || r.err != nil
	if r.update != nil && int(r.from) != m.choice.Active() {
		moved := origin(int(r.from)) != origin(m.choice.Active())
		m.emit(Forget{Server: int(r.from), Type: r.table.typ, Name: r.update.Name()})
		if same, ok := r.table.shard.(interface {
			Equal(a, b resource.Update) bool
		}); ok && r.err == nil {
			news = moved || !same.Equal(r.update, u)
		}
	}
	r.state, r.err = Acked, nil
	r.from = uint8(m.choice.Active()) //nolint:gosec // below MaxServers
	r.version = m.shared(res.Version)
	if r.update != u {
		r.updated = m.now.UnixNano()
		r.table.use(r, u)
	}
	m.live(r, res.TTL)
	if news {
		m.tell(r)
	}
}

// shared is a version, with the text of the last one where that is the same: a response
// has many resources.
func (m *Machine) shared(version string) *string {
	if m.version == nil || *m.version != version {
		m.version = &version
	}
	return m.version
}

// live starts the time to live over; zero: there is none any longer.
func (m *Machine) live(r *record, ttl time.Duration) {
	at := time.Time{}
	if ttl > 0 {
		at = m.now.Add(ttl)
	}
	m.lifetimes.set(r, at)
}

// beat takes a heartbeat, which is about the version that is in use or about
// nothing. One that comes when the resource has expired says that it is still there:
// it is asked for again.
func (m *Machine) beat(r *record, res Result) {
	i := m.choice.Active()
	switch {
	case r.update != nil && (res.Version == r.lastVersion() || res.Version == ""):
		m.live(r, res.TTL)
	case r.update == nil && r.state == DoesNotExist && r.watched():
		m.emit(Unsubscribe{Server: i, Type: r.table.typ, Name: r.name.String()})
		m.emit(Subscribe{Server: i, Type: r.table.typ, Name: r.name.String()})
	}
}

func (m *Machine) reject(r *record, cause error) {
	if r.update == nil && !r.watched() {
		cause = clipped(cause)
	}
	m.dataError(r, Nacked, m.fault(r, resource.ErrInvalid, cause))
}

// maxMemberError bounds the text of the error of a member that never was valid: there may
// be many of them.
const maxMemberError = 256

// clipped is an error with the beginning of the text of another, and nothing else of it.
func clipped(err error) error {
	text := err.Error()
	if len(text) > maxMemberError {
		text = strings.ToValidUTF8(text[:maxMemberError], "") + "…"
	}
	return errors.New(strings.Clone(text))
}

// remove notes that the control plane does not have a resource, or not any longer.
// Only collections lose a member by that in any case.
func (m *Machine) remove(r *record, why error) {
	if r.update == nil && r.state == DoesNotExist {
		return
	}
	err := m.fault(r, resource.ErrRemoved, why)
	if known := r.state == Nacked || r.err != nil && errors.Is(r.err, resource.ErrRemoved); r.update == nil && !known {
		err = m.fault(r, resource.ErrNotFound, errSaid)
	}
	m.leave(r, err)
	m.dataError(r, DoesNotExist, err)
}

// refused takes an error of the control plane's (xRFC TP3, gRFC A88).
func (m *Machine) refused(r *record, e ServerError) {
	cause := fmt.Errorf("the control plane says: %q (code %d)", e.Message, e.Code)
	var err *resource.Error
	switch e.Code {
	case codeNotFound:
		kind := resource.ErrNotFound
		if r.update != nil {
			kind = resource.ErrRemoved
		}
		err = m.fault(r, kind, cause)
		m.leave(r, err)
	case codePermissionDenied:
		err = m.fault(r, resource.ErrDenied, cause)
	default:
		m.setError(r, ReceivedError, m.fault(r, resource.ErrUnavailable, cause))
		return
	}
	m.dataError(r, ReceivedError, err)
}

// dataError sets the error of a resource. What is cached stays in use, unless
// the server is known not to alert people of such errors (gRFC A88).
func (m *Machine) dataError(r *record, state State, err *resource.Error) {
	if r.update != nil && (m.config.FailOnDataErrors || m.active(bootstrap.FeatureFailOnDataErrors)) {
		m.drop(r)
		r.err = nil // what was ambient is a failure now, and news
	}
	m.setError(r, state, err)
}

// setError tells an error, unless it says nothing new.
func (m *Machine) setError(r *record, state State, err *resource.Error) {
	r.timer, r.doubted = 0, false
	known := r.state == state && r.err != nil && r.err.Error() == err.Error()
	r.state, r.err = state, err
	if !known {
		m.tell(r)
	}
}

// stale removes what a server turns out not to have.
func (m *Machine) stale(ev Stale) {
	if ev.Server != m.choice.Active() {
		return
	}
	t := m.table(ev.Type)
	for _, name := range ev.Names {
		if r, ok := t.records[name]; ok {
			m.remove(r, errStale)
		}
		for _, r := range slices.Clone(t.aliased[name]) {
			m.remove(r, errStale)
		}
	}
}
