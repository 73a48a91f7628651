package authority

import (
	"iter"
	"slices"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// An Entry is what a machine knows of a resource or a collection, for people.
type Entry struct {
	Type            *resource.Type
	Name            xdstp.Name
	State           State
	Update          resource.Update
	Version         string
	Updated         time.Time
	Expires         time.Time
	Err             error
	RejectedVersion string
	RejectedAt      time.Time
	Collection      bool
	Watchers        []Watcher
}

// Entries yields what the machine knows, in no particular order.
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
	return Entry{
		Type: r.table.typ, Name: r.name, State: r.state, Update: r.update, Version: r.version, Updated: r.updated,
		Expires: r.expires, Err: m.told(r).Err, RejectedVersion: r.rejected, RejectedAt: r.rejectedAt,
		Collection: r.isCollection(), Watchers: slices.Clone(r.watchers),
	}
}
