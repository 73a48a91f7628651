package lkg

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"
)

// authority holds the resources of one authority, from all clients of the process and from the
// newest generation on disk. Store.mu guards it.
type authority struct {
	name    string // Authority.String
	prefix  string // of its files
	entries map[entryKey]*entry
	bytes   int64 // of the entries, about

	writers map[*Writer]bool
	lost    time.Time // when the last writer lost its server
	held    bool      // a client closed while its resources were incomplete, and none was complete since

	dirtySince time.Time // the first change that is not written; zero: none
	lastChange time.Time
	changes    uint64 // number of changes
	touched    bool   // a time to live was renewed since the last write
	retryAt    time.Time

	sequence uint64 // of the newest generation
	written  time.Time
	writes   uint64
	size     int64 // of the newest file
	err      error // of the last attempt to write
	failures uint64
	dropped  uint64 // stored resources that today's decoders reject
	omitted  int    // resources with secrets that the newest generation lacks
}

type entryKey struct{ typ, name string }

// An entry is a resource with its users. Another version of the resource is another entry.
type entry struct {
	Resource
	users  int    // clients that use it from a live server; Confirmed is out of date while there are any
	secret secret // belongs to the goroutine that writes
}

// secret is the result of looking for secrets.
type secret uint8

const (
	unchecked secret = iota
	isPublic
	isSecret
)

// put takes a resource from a server into the set. It reports whether a write is due that was not before.
func (a *authority) put(r *Resource, w *Writer, now time.Time) (begins bool) {
	key := entryKey{r.Type, r.Name}
	old := a.entries[key]
	switch {
	case old == nil:
		a.store(key, &entry{Resource: *r})
		begins = a.changed(now)
	case old.Version != r.Version || old.Server != r.Server || old.AliasOf != r.AliasOf || !bytes.Equal(old.Body, r.Body):
		a.bytes -= old.size()
		a.store(key, &entry{Resource: *r, users: old.users})
		begins = a.changed(now)
	default:
		if !old.Expires.Equal(r.Expires) {
			old.Expires, begins = r.Expires, !a.touched
			a.touched = true
		}
		old.Body = r.Body // let the client and the store share memory
	}
	if !w.uses[key] {
		w.uses[key] = true
		a.entries[key].users++
	}
	a.entries[key].Confirmed = now
	return begins
}

func (a *authority) store(key entryKey, e *entry) {
	a.entries[key] = e
	a.bytes += e.size()
}

// remove forgets a resource.
func (a *authority) remove(key entryKey) (existed bool) {
	e := a.entries[key]
	if e == nil {
		return false
	}
	a.bytes -= e.size()
	delete(a.entries, key)
	for w := range a.writers {
		delete(w.uses, key)
	}
	return true
}

// release ends a client's use of a resource.
func (a *authority) release(key entryKey, w *Writer, now time.Time) {
	if !w.uses[key] {
		return
	}
	delete(w.uses, key)
	e := a.entries[key]
	e.users--
	if e.users == 0 {
		e.Confirmed = a.confirmedAt(now)
	}
}

// changed records a change, and reports whether it is the first since the last write.
func (a *authority) changed(now time.Time) (first bool) {
	a.changes++
	a.lastChange = now
	if a.dirtySince.IsZero() {
		a.dirtySince, first = now, true
	}
	return first
}

// reachable reports whether a client has a live server.
func (a *authority) reachable() bool {
	for w := range a.writers {
		if w.reachable {
			return true
		}
	}
	return false
}

// settled reports whether the resources of every client are complete.
func (a *authority) settled() bool {
	for w := range a.writers {
		if !w.settled {
			return false
		}
	}
	return !a.held
}

// confirmedAt returns when a server last confirmed the resources in use.
func (a *authority) confirmedAt(now time.Time) time.Time {
	if a.reachable() || a.lost.IsZero() {
		return now
	}
	return a.lost
}

// resource returns an entry as a Resource of its own.
func (a *authority) resource(e *entry, now time.Time) Resource {
	r := e.Resource
	if e.users > 0 {
		r.Confirmed = a.confirmedAt(now)
	}
	return r
}

// due returns when the next write is due.
func (a *authority) due(o *Options) (at time.Time, ok bool) {
	if !a.settled() {
		return time.Time{}, false
	}
	switch refresh := refreshTime(o); {
	case !a.dirtySince.IsZero():
		at = a.lastChange.Add(o.Quiet)
		if latest := a.dirtySince.Add(o.MaxDelay); latest.Before(at) {
			at = latest
		}
	case a.touched:
		at = a.written.Add(o.MaxDelay)
	case a.sequence > 0 && refresh > 0 && a.reachable():
		at = a.written.Add(refresh)
	default:
		return time.Time{}, false
	}
	if at.Before(a.retryAt) {
		at = a.retryAt
	}
	return at, true
}

// refreshTime returns the time after which a generation is written again without changes. Resources
// that servers still confirm would otherwise become too old on disk.
func refreshTime(o *Options) time.Duration {
	age := max(o.MaxAge, 0)
	for _, a := range o.TypeMaxAge {
		if age == 0 || a < age {
			age = a
		}
	}
	if age == 0 {
		return 0
	}
	return max(age/8, o.MaxDelay)
}

// prune forgets resources that nobody uses any more and that are too old. If the rest exceeds the
// limits, those that were confirmed first give way, until only resources in use are left.
func (a *authority) prune(o *Options, now time.Time) {
	var unused []*entry
	for key, e := range a.entries {
		switch {
		case e.users > 0:
		case !e.usable(o, now):
			a.remove(key)
		default:
			unused = append(unused, e)
		}
	}
	if a.fits(o) {
		return
	}
	slices.SortFunc(unused, func(x, y *entry) int {
		return cmp.Or(x.Confirmed.Compare(y.Confirmed), cmp.Compare(x.Type, y.Type), cmp.Compare(x.Name, y.Name))
	})
	for _, e := range unused {
		if a.fits(o) {
			return
		}
		a.remove(entryKey{e.Type, e.Name})
	}
}

func (a *authority) fits(o *Options) bool {
	return a.bytes <= o.MaxBytes && len(a.entries) <= maxResources
}

// checkFits returns an error that names the exceeded limit.
func (a *authority) checkFits(o *Options) error {
	switch {
	case len(a.entries) > maxResources:
		return fmt.Errorf("resources in use = %d; must not exceed %d", len(a.entries), maxResources)
	case a.bytes > o.MaxBytes:
		return fmt.Errorf("size of the resources in use = %d bytes; must not exceed MaxBytes, %d", a.bytes, o.MaxBytes)
	}
	return nil
}

// usable reports whether a resource may still be used. A clock that was set back makes resources seem
// to come from the future. They are usable if they are ahead by no more than the limit of their age.
func (r *Resource) usable(o *Options, now time.Time) bool {
	if limit := o.maxAge(r.Type); limit > 0 {
		if age := now.Sub(r.Confirmed); age > limit || age < -limit {
			return false
		}
	}
	_, alive := r.Remaining(now)
	return alive
}

// Remaining returns the rest of the time to live; zero: without limit. A clock that was set back
// does not extend it.
func (r *Resource) Remaining(now time.Time) (ttl time.Duration, alive bool) {
	if r.Expires.IsZero() {
		return 0, true
	}
	ttl = min(r.Expires.Sub(now), r.Expires.Sub(r.Confirmed))
	return ttl, ttl > 0
}
