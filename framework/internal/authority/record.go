package authority

import (
	"iter"
	"slices"
	"time"

	"github.com/xdsforge/xdsforge/framework/internal/byname"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A State is the state of a resource (gRFC A88).
type State uint8

// The states; see the package's documentation.
const (
	Requested State = iota
	Acked
	Nacked
	DoesNotExist
	Timeout
	ReceivedError
)

// String returns the state's name in the spelling of gRFC A88.
func (s State) String() string {
	return [...]string{"REQUESTED", "ACKED", "NACKED", "DOES_NOT_EXIST", "TIMEOUT", "RECEIVED_ERROR"}[s]
}

// A record is the state of one resource that is watched or is a member of a watched collection. The
// record of such a collection itself never has an update.
//
// There is one for each resource, so records are small: fields that few records need are in extras.
// The fields for an unchanged resource come first, in one cache line.
type record struct {
	update       resource.Update // in use; nil when there is none
	err          *resource.Error // the error of the state; nil when Acked or Requested
	version      *string         // of the last response with it; nil: there was none. Responses share theirs
	records      *typeRecords
	extras       *extras // nil for most
	lastResponse uint32  // the last response of the server in use that mentioned it
	timer        uint32  // the armed does-not-exist timer; 0 when none is
	state        State
	from         uint8 // the server of the update
	gone         bool  // the machine has discarded it
	overdue      bool  // it was requested from the server in use again, without an answer
	unconfirmed  bool  // DoesNotExist by the timer alone, while the server was and is silent
	counted      uint8 // the position among the type's counts, plus one; 0: none

	name    xdstp.Name
	asked   uint64  // servers, by bit, on whose stream it has been requested
	watcher Watcher // the only one; nil where there are none or many
	updated int64   // when the update was taken into use, in nanoseconds of Unix time
	failed  int64   // when the last error occurred, likewise
}

// extras holds the fields that few records need.
type extras struct {
	watchers  []Watcher       // all, if there were several; in arbitrary order
	positions map[Watcher]int // in watchers; nil while they are few

	collection *record   // that contains it
	member     int       // its index among the members
	members    []*record // of a collection; nil otherwise
	response   uint64    // for which Wants last counted members
	promised   int       // new members that response will add
	halfOver   bool      // half of the armed does-not-exist timer of a collection is over

	rejected   string // the last rejected version
	rejectedAt time.Time
	message    []byte // the message of that version, while the resource is rejected

	expires  time.Time // the end of its time to live; zero: never
	position int       // in the queue of expiring ones, plus one
}

// collection returns the collection that contains the record, or nil.
func (r *record) collection() *record {
	if r.extras == nil {
		return nil
	}
	return r.extras.collection
}

// members returns the members of a collection.
func (r *record) members() []*record {
	if r.extras == nil {
		return nil
	}
	return r.extras.members
}

// expires reports whether the update has a time to live.
func (r *record) expires() bool { return r.extras != nil && !r.extras.expires.IsZero() }

// own returns the extras of the record, for changes.
func (r *record) own() *extras {
	if r.extras == nil {
		r.extras = new(extras)
	}
	return r.extras
}

// isCollection reports whether the record is one of a wildcard or a glob.
func (r *record) isCollection() bool { return r.name.IsGlob() || r.name.String() == resource.Wildcard }

// usable reports whether the members of a collection are valid: a server answered, and no later
// error invalidated them.
func (r *record) usable() bool {
	return r.state == Acked || r.state == ReceivedError && len(r.members()) > 0
}

// unknown reports whether the control plane has not sent anything about the resource yet. An
// expired timer does not count if the control plane was silent all the time, because it may have
// failed before.
func (r *record) unknown() bool {
	return r.update == nil && (r.state == Requested || r.state == Timeout || r.state == DoesNotExist && r.unconfirmed)
}

// isStray reports whether the record is a member that only another server had.
func (r *record) isStray() bool { return r.collection() != nil && !r.watched() && r.lastResponse == 0 }

// askedOf reports whether the resource has been requested on the stream of a server, by its name or
// as a member.
func (r *record) askedOf(server int) bool {
	asked := r.asked
	if c := r.collection(); c != nil {
		asked |= c.asked
	}
	return asked&(1<<server) != 0
}

// lastVersion returns the version of the last response with the resource.
func (r *record) lastVersion() string {
	if r.version == nil {
		return ""
	}
	return *r.version
}

// typeRecords holds the records of one type, and the shard that others read.
type typeRecords struct {
	typ    *resource.Descriptor
	shard  resource.Shard
	byName byname.Table[*record] // by canonical name
	// aliased are the records whose update has another name than the record, by the name of the
	// update.
	aliased     map[string][]*record
	collections int // number of collections among records
	// generation grows when an unwanted name becomes wanted.
	generation uint64
	counts     counts
}

// record returns the record with the name of a new one. It adds the new one if there is none.
func (t *typeRecords) record(r *record) (known *record, added bool) {
	at, found := t.byName.Place(r.name.String(), nameOf)
	if !found {
		*at = r
		r.count()
	}
	return *at, !found
}

// find returns the record of a canonical name.
func (t *typeRecords) find(name string) (r *record, ok bool) { return t.byName.Find(name, nameOf) }

func nameOf(r *record) string { return r.name.String() }

// named calls f with the records under which the resource of a result is watched: that of its name,
// and those of its aliases.
func (t *typeRecords) named(res *Result, f func(*record)) {
	name, aliases := res.Name, res.Aliases
	if r := res.Record.r; r != nil && !r.gone {
		f(r) // Wants found it. Another search would take 4 % of the start-up with 100,000 resources.
	} else if r, ok := t.find(name.String()); ok {
		f(r)
	}
	for _, r := range slices.Clone(t.aliased[name.String()]) {
		if !slices.Contains(aliases, r.name) {
			f(r)
		}
	}
	for _, a := range aliases {
		if r, ok := t.find(a.String()); ok && a != name {
			f(r)
		}
	}
}

// use takes an update into use.
func (t *typeRecords) use(r *record, u resource.Update) {
	t.release(r, u)
	r.update = u
	r.count()
	if u.Name() != r.name {
		key := u.Name().String()
		t.aliased[key] = append(t.aliased[key], r)
		t.generation++
	}
	t.shard.Store(u)
}

// release ends the use of the update before another one, which may be nil. The caller counts the
// record.
func (t *typeRecords) release(r *record, next resource.Update) {
	if r.update == nil {
		return
	}
	old := r.update.Name()
	key := old.String()
	r.update = nil
	if others := t.aliased[key]; slices.Contains(others, r) {
		t.aliased[key] = slices.DeleteFunc(others, func(o *record) bool { return o == r })
		if len(t.aliased[key]) == 0 {
			delete(t.aliased, key)
		}
	}
	if next != nil && next.Name() == old || len(t.aliased[key]) > 0 {
		return
	}
	if same, ok := t.find(key); ok && same.update != nil {
		return
	}
	t.shard.Delete(old)
}

// fewWatchers is the number of watchers up to which they are searched linearly.
const fewWatchers = 32

// watched reports whether the record has watchers.
func (r *record) watched() bool {
	return r.watcher != nil || r.extras != nil && len(r.extras.watchers) > 0
}

// watchers yields the watchers of the record. They must not change meanwhile.
func (r *record) watchers() iter.Seq[Watcher] {
	return func(yield func(Watcher) bool) {
		if r.watcher != nil {
			yield(r.watcher)
		} else if r.extras != nil {
			slices.Values(r.extras.watchers)(yield)
		}
	}
}

func (r *record) addWatcher(w Watcher) {
	if !r.watched() {
		r.watcher = w
		return
	}
	x := r.own()
	if r.watcher != nil {
		x.watchers, r.watcher = append(x.watchers, r.watcher), nil
	}
	x.watchers = append(x.watchers, w)
	switch n := len(x.watchers); {
	case x.positions != nil:
		x.positions[w] = n - 1
	case n > fewWatchers:
		x.positions = make(map[Watcher]int, n)
		for i, w := range x.watchers {
			x.positions[w] = i
		}
	}
}

func (r *record) removeWatcher(w Watcher) {
	if r.watcher == w {
		r.watcher = nil
		return
	}
	if r.extras == nil {
		return
	}
	x := r.extras
	i, ok := x.positions[w]
	if x.positions == nil {
		i = slices.Index(x.watchers, w)
		ok = i >= 0
	}
	if !ok {
		return
	}
	last := len(x.watchers) - 1
	if x.positions != nil {
		x.positions[x.watchers[last]] = i
		delete(x.positions, w)
	}
	x.watchers[i], x.watchers[last] = x.watchers[last], nil
	x.watchers = x.watchers[:last]
}
