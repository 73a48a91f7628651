package lkg

import (
	"cmp"
	"slices"
	"time"
)

// A Status describes a store.
type Status struct {
	Dir string
	// ReadOnly is the reason why the store does not write; nil if it does.
	ReadOnly error
	// Authorities are ordered by name.
	Authorities []AuthorityStatus
}

// An AuthorityStatus describes the resources of an authority in a store.
type AuthorityStatus struct {
	Name      string // Authority.String
	Resources int    // with those that no generation has yet
	Bytes     int64  // about
	// Sequence and Written are those of the newest generation; zero if there is none. FileBytes is
	// its size. Omitted is the number of resources with secrets that it lacks.
	Sequence  uint64
	Written   time.Time
	FileBytes int64
	Omitted   int
	// Writes counts the generations that this process wrote, Failures the failed attempts. Err is
	// the reason of the last attempt if it failed.
	Writes, Failures uint64
	Err              error
	// Dropped counts the stored resources that today's decoders reject.
	Dropped uint64
}

// Status returns the state of the store.
func (s *Store) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Status{Dir: s.options.Dir, ReadOnly: s.readOnly}
	for _, a := range s.authorities {
		st.Authorities = append(st.Authorities, AuthorityStatus{
			Name: a.name, Resources: len(a.entries), Bytes: a.bytes,
			Sequence: a.sequence, Written: a.written, FileBytes: a.size, Omitted: a.omitted,
			Writes: a.writes, Failures: a.failures, Err: a.err, Dropped: a.dropped,
		})
	}
	slices.SortFunc(st.Authorities, func(x, y AuthorityStatus) int { return cmp.Compare(x.Name, y.Name) })
	return st
}
