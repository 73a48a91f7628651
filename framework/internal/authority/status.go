package authority

import (
	"iter"
	"slices"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// An Entry is the state of a resource or a collection, for status pages.
type Entry struct {
	Type            *resource.Descriptor
	Name            xdstp.Name
	State           State
	Update          resource.Update
	Origin          resource.Origin // of Update
	Version         string
	Updated         time.Time
	Expires         time.Time
	Err             error
	RejectedVersion string
	RejectedAt      time.Time
	RejectedMessage []byte    // the message of that version; nil if the machine does not keep it
	FailedAt        time.Time // the time of the error of the state; zero if that has none
	Collection      bool
	Watchers        []Watcher
}

// Entries yields the state of all records, in no particular order.
func (m *Machine) Entries() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for _, t := range m.types {
			for r := range t.byName.All() {
				if !yield(m.entry(r)) {
					return
				}
			}
		}
	}
}

func (m *Machine) entry(r *record) Entry {
	s := m.stateOf(r)
	e := Entry{
		Type: r.records.typ, Name: r.name, State: r.state, Update: r.update, Origin: s.Origin, Version: r.lastVersion(),
		Err: s.Err, Collection: r.isCollection(), Watchers: slices.Collect(r.watchers()),
	}
	if r.updated != 0 {
		e.Updated = time.Unix(0, r.updated)
	}
	if r.err != nil {
		e.FailedAt = time.Unix(0, r.failed)
	}
	if x := r.extras; x != nil {
		e.Expires, e.RejectedVersion, e.RejectedAt, e.RejectedMessage = x.expires, x.rejected, x.rejectedAt, x.message
	}
	return e
}

// A Count is the number of resources of one type in one state (gRFC A78, gRFC A88).
type Count struct {
	Type      *resource.Descriptor
	State     State
	Cached    bool // an update is in use
	Resources int
}

// counts holds the number of records by state, without and with an update. The machine maintains
// them with each change, so that reading them does not depend on the number of records.
type counts [2 * (ReceivedError + 1)]int

// Counts yields the counts that are not zero, in the order of types and states. It leaves out
// wildcards and globs, which are not resources.
func (m *Machine) Counts() iter.Seq[Count] {
	return func(yield func(Count) bool) {
		for _, t := range m.types {
			for i, n := range t.counts {
				c := Count{Type: t.typ, State: State(i / 2), Cached: i%2 == 1, Resources: n}
				if n != 0 && !yield(c) {
					return
				}
			}
		}
	}
}

// become changes the state of a record and its error.
func (r *record) become(s State, err *resource.Error) {
	r.state, r.err = s, err
	r.count()
}

// count moves the record to the count of its present state. Every change of state, update or gone
// must be followed by a call.
func (r *record) count() {
	if r.counted == 0 && (r.gone || r.isCollection()) {
		return
	}
	bucket := 1 + 2*uint8(r.state)
	if r.update != nil {
		bucket++
	}
	if r.gone {
		bucket = 0
	}
	if bucket == r.counted {
		return
	}
	if r.counted > 0 {
		r.records.counts[r.counted-1]--
	}
	if bucket > 0 {
		r.records.counts[bucket-1]++
	}
	r.counted = bucket
}
