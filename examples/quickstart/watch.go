package main

import (
	"errors"
	"fmt"
	"iter"
)

// A watch is a generated Watch, read step by step.
type watch[U any] struct {
	next func() (U, error, bool)
	stop func()
}

func begin[U any](states iter.Seq2[U, error]) watch[U] {
	next, stop := iter.Pull2(states)
	return watch[U]{next, stop}
}

// until reads states until one is as it should be, and returns it: the update,
// and the error that stands in its place or beside it.
func (w watch[U]) until(what string, fits func(U, error) bool) (u U, state, err error) {
	last := errors.New("none")
	for {
		u, state, ok := w.next()
		if !ok {
			return u, nil, fmt.Errorf("did not see %s in time; the last error was: %w", what, last)
		}
		if fits(u, state) {
			return u, state, nil
		}
		if state != nil {
			last = state
		}
	}
}
