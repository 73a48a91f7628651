package authority

import (
	"maps"
	"slices"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A State is where a resource stands (gRFC A88).
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

// String is the state's name as gRFC A88 spells it.
func (s State) String() string {
	return [...]string{"REQUESTED", "ACKED", "NACKED", "DOES_NOT_EXIST", "TIMEOUT", "RECEIVED_ERROR"}[s]
}

// A record is what is known of one resource that is watched, or that is a member of
// a collection that is; or of such a collection itself, which never has an update.
//
// There is one for each resource, so it is small: what few of them have is apart. What
// is looked at when a resource comes again as it was stands first, in one line of a
// processor's cache.
type record struct {
	update  resource.Update // in use; nil when there is none
	err     *resource.Error // the error of the state; nil when Acked or Requested
	version *string         // with which it was last sent; nil: it was not. Responses share theirs
	table   *table
	rare    *rare  // nil for most
	seen    uint32 // the last response of the active server that mentioned it
	timer   uint32 // the armed does-not-exist timer; 0 when none is
	state   State
	from    uint8 // the server that sent the update
	gone    bool  // the machine has forgotten it
	overdue bool  // the server in use was asked for it again and has not answered
	doubted bool  // DoesNotExist by the timer alone: the server was silent all the time, and is

	name    xdstp.Name
	asked   uint64  // servers, by bit, on whose stream it has been asked for
	watcher Watcher // the only one; nil where there are none or many
	updated int64   // when it was taken into use, in nanoseconds of Unix time
}

// rare is what few records have.
type rare struct {
	watchers []Watcher       // all, where there were several; in no order that means anything
	places   map[Watcher]int // in watchers; nil while they are few

	collection *record   // of which it is a member
	member     int       // its place among the members of that
	members    []*record // of a collection; nil otherwise
	response   uint64    // which a collection was last asked about
	promised   int       // members that it will have of that

	rejected   string // the version that was rejected last
	rejectedAt time.Time

	expires time.Time // when its time to live is over; zero: never
	place   int       // in the queue of those that expire, plus one
}

// collection is the one of which the record is a member, or nil.
func (r *record) collection() *record {
	if r.rare == nil {
		return nil
	}
	return r.rare.collection
}

// members are those of a collection.
func (r *record) members() []*record {
	if r.rare == nil {
		return nil
	}
	return r.rare.members
}

// expires reports whether the update has a time to live.
func (r *record) expires() bool { return r.rare != nil && !r.rare.expires.IsZero() }

// own returns what is rare of the record, to change.
func (r *record) own() *rare {
	if r.rare == nil {
		r.rare = new(rare)
	}
	return r.rare
}

// isCollection reports whether the record is one of a wildcard or a glob.
func (r *record) isCollection() bool { return r.name.IsGlob() || r.name.String() == resource.Wildcard }

// usable reports whether the members of a collection are to be used: a server answered, and a
// later error leaves them valid.
func (r *record) usable() bool {
	return r.state == Acked || r.state == ReceivedError && len(r.members()) > 0
}

// unknown reports whether the control plane has not sent anything about the resource yet. A
// fired timer does not count if the control plane was silent all the time, because it may
// have failed before.
func (r *record) unknown() bool {
	return r.update == nil && (r.state == Requested || r.state == Timeout || r.state == DoesNotExist && r.doubted)
}

// isStray reports whether the record is a member that only another server had.
func (r *record) isStray() bool { return r.collection() != nil && !r.watched() && r.seen == 0 }

// askedOf reports whether the resource has been asked for on the stream of a server,
// by its name or as a member.
func (r *record) askedOf(server int) bool {
	asked := r.asked
	if c := r.collection(); c != nil {
		asked |= c.asked
	}
	return asked&(1<<server) != 0
}

// lastVersion is the version with which it was last sent.
func (r *record) lastVersion() string {
	if r.version == nil {
		return ""
	}
	return *r.version
}

// A table is the records of one type, beside the shard that others read.
type table struct {
	typ     *resource.Descriptor
	shard   resource.Shard
	records map[string]*record // by canonical name
	// aliased are the records whose update has another name than theirs, by that.
	aliased     map[string][]*record
	collections int // records that are
	most        int // records since the map was made
	// generation grows when a name becomes wanted that was not.
	generation uint64
}

// fewRecords are so few that the size of a map does not matter.
const fewRecords = 1 << 10

// remove forgets a record. Maps never shrink, so the map is made anew when there are far
// fewer records than there were.
func (t *table) remove(key string) {
	t.most = max(t.most, len(t.records))
	delete(t.records, key)
	if t.most < fewRecords || len(t.records) > t.most/4 {
		return
	}
	records := make(map[string]*record, len(t.records))
	maps.Copy(records, t.records)
	t.records, t.most = records, len(records)
}

// named calls f with the records by which a resource is watched: that of its name,
// and those of its aliases.
func (t *table) named(name xdstp.Name, aliases []xdstp.Name, f func(*record)) {
	if r, ok := t.records[name.String()]; ok {
		f(r)
	}
	for _, r := range slices.Clone(t.aliased[name.String()]) {
		if !slices.Contains(aliases, r.name) {
			f(r)
		}
	}
	for _, a := range aliases {
		if r, ok := t.records[a.String()]; ok && a != name {
			f(r)
		}
	}
}

// use puts an update into use.
func (t *table) use(r *record, u resource.Update) {
	t.release(r, u)
	r.update = u
	if u.Name() != r.name {
		key := u.Name().String()
		t.aliased[key] = append(t.aliased[key], r)
		t.generation++
	}
	if shared, ok := t.shard.Load(u.Name()); !ok || shared != u {
		t.shard.Store(u)
	}
}

// release makes room for another update, which may be nil.
func (t *table) release(r *record, next resource.Update) {
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
	if same, ok := t.records[key]; ok && same.update != nil {
		return
	}
	t.shard.Delete(old)
}
