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
	Version         string
	Updated         time.Time
	Expires         time.Time
	Err             error
	RejectedVersion string
	RejectedAt      time.Time
	FailedAt        time.Time // the time of the error of the state; zero if that has none
	Collection      bool
	Watchers        []Watcher
}

// Entries yields the state of all records, in no particular order.
func (m *Machine) Entries() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for _, t := range m.tables {
			for _, r := range t.records {
				if !yield(m.entry(r)) {
					return
				}
			}
		}
	}
}

func (m *Machine) entry(r *record) Entry {
	e := Entry{
		Type: r.table.typ, Name: r.name, State: r.state, Update: r.update, Version: r.lastVersion(),
		Err: m.told(r).Err, Collection: r.isCollection(), Watchers: slices.Collect(r.watchers()),
	}
	if r.updated != 0 {
		e.Updated = time.Unix(0, r.updated)
	}
	if r.err != nil {
		e.FailedAt = time.Unix(0, r.failed)
	}
	if x := r.rare; x != nil {
		e.Expires, e.RejectedVersion, e.RejectedAt = x.expires, x.rejected, x.rejectedAt
	}
	return e
}
