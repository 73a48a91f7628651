package main

import (
	"cmp"
	"errors"
	"fmt"
	"iter"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// A watch reads a generated Watch step by step.
type watch[U any] struct {
	next func() (resource.Event[U], bool)
	stop func()
}

func begin[U any](events iter.Seq[resource.Event[U]]) watch[U] {
	next, stop := iter.Pull(events)
	return watch[U]{next, stop}
}

// until reads events until fits accepts one, and returns it.
func (w watch[U]) until(what string, fits func(resource.Event[U]) bool) (ev resource.Event[U], err error) {
	last := errors.New("none")
	for {
		ev, ok := w.next()
		if !ok {
			return ev, fmt.Errorf("did not see %s in time; the last error was: %w", what, last)
		}
		if fits(ev) {
			return ev, nil
		}
		last = cmp.Or(ev.Err, ev.Ambient, last)
	}
}

// usable reports whether there is an update without an ambient error.
func usable[U any](ev resource.Event[U]) bool { return ev.Err == nil && ev.Ambient == nil }
