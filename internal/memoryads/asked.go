package memoryads

import (
	"slices"
	"strings"
	"time"
)

// A client may repeat each name of a type once, and all of them maxRepetitions times in a
// repetitionWindow.
const (
	repetitionWindow = 30 * time.Second
	maxRepetitions   = 4
)

// asked are the names that a client asks for on a stream, whether or not the server has
// taken notice. A client may repeat a name only while no response speaks of it.
type asked struct {
	names    map[string]time.Time // when the client received the first response that speaks of it
	legacy   bool                 // the wildcard was asked for by a request without names
	explicit bool                 // state of the world: a request had names
	repeated []time.Time          // requests for names that are not answered, in the last window
}

func newAsked() *asked { return &asked{names: make(map[string]time.Time)} }

// ask notes that the client asks for a name, and returns false if it did so before.
func (a *asked) ask(name string) (first bool) {
	if _, known := a.names[name]; known {
		return false
	}
	a.names[name] = time.Time{}
	return true
}

// spell notes that a request names the wildcard, and reports whether the first one to mean
// it did not. A client spells the wildcard so that it can unsubscribe from it.
func (a *asked) spell(name string) bool {
	was := a.legacy && name == wildcard
	a.legacy = a.legacy && !was
	return was
}

// drop notes that the client no longer asks for a name.
func (a *asked) drop(name string) { delete(a.names, name) }

// answer notes that the client has received a response that has some resources and speaks
// of other names. A resource answers its glob. Each response answers the wildcard, but not
// one in delta that is only about xdstp names and globs that the client asks for.
func (a *asked) answer(has, others []string, delta bool) {
	elsewhere := delta && a.elsewhere(slices.Concat(has, others))
	for asked, answered := range a.names {
		covered := func(name string) bool { return covers(asked, name) }
		named := slices.Contains(has, asked) || slices.Contains(others, asked) || asked == wildcard && !elsewhere
		if answered.IsZero() && (named || slices.ContainsFunc(has, covered)) {
			a.names[asked] = time.Now()
		}
	}
}

// elsewhere reports whether there are names, and the client asks for all of them, but not
// by the wildcard.
func (a *asked) elsewhere(names []string) bool {
	return len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool {
		if !strings.HasPrefix(name, "xdstp:") {
			return true
		}
		for asked := range a.names {
			if asked == name || covers(asked, name) {
				return false
			}
		}
		return true
	})
}

// reopen counts collections as unanswered.
func (a *asked) reopen() {
	for n := range a.names {
		if n == wildcard || strings.HasSuffix(n, "/*") {
			a.names[n] = time.Time{}
		}
	}
}

// open reports whether a name was not answered when the client sent a request. A response
// that came at the same time has crossed the request.
func (a *asked) open(name string, sent time.Time) bool {
	answered, known := a.names[name]
	return known && (answered.IsZero() || !answered.Before(sent))
}

// repeat notes a request for names that are not answered, and reports whether it is one
// too many.
func (a *asked) repeat(now time.Time) bool {
	a.repeated = slices.DeleteFunc(a.repeated, func(t time.Time) bool { return now.Sub(t) >= repetitionWindow })
	a.repeated = append(a.repeated, now)
	return len(a.repeated) > maxRepetitions+len(a.names)
}

// called are the names of resources with their aliases, and those of errors.
func called(resources []*Resource) (has, others []string) {
	for _, r := range resources {
		if r.Error != nil {
			others = append(others, r.Name)
			continue
		}
		has = append(append(has, r.Name), r.Aliases...)
	}
	return has, others
}
