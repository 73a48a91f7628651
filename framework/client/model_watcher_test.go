package client_test

import (
	"errors"
	"fmt"
	"sync"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// A modelWatcher keeps the last state that it received. A slow one stays in its first callback
// until the test continues it. A hasty one cancels its watch in the callback.
type modelWatcher struct {
	key    modelKey
	number int
	slow   chan struct{} // not nil: blocks callbacks until it is closed
	hasty  bool
	ready  chan struct{} // closed when cancel is set
	cancel func()

	mu      sync.Mutex
	update  resource.Update // brought last
	value   string          // of it; empty when it is not in use
	err     error
	blocked bool
	ended   bool   // cancelled: no callback may start
	wrong   string // the first violation
}

// notify records a state.
func (w *modelWatcher) notify(s, last resource.State) {
	w.called(func() {
		if s == last {
			w.wrong = fmt.Sprintf("%v, which was told already", s)
		}
		if last.Update != w.update {
			w.wrong = fmt.Sprintf("the last update is %v; it was %v", last.Update, w.update)
		}
		w.update, w.value, w.err = s.Update, "", s.Err
		if s.Update != nil {
			w.value = tag(s.Update)
		}
	})
}

func (w *modelWatcher) called(note func()) {
	<-w.ready
	w.mu.Lock()
	if w.ended {
		w.wrong = "a callback after cancel"
	}
	note()
	cancels := w.hasty && !w.ended
	w.ended = w.ended || cancels
	w.blocked = w.slow != nil
	w.mu.Unlock()
	if cancels {
		w.cancel()
	}
	if w.slow != nil {
		<-w.slow
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.blocked = false
}

// end records that the watch was cancelled long ago. No callback may start now.
func (w *modelWatcher) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
}

// A sight is the state of a watcher at one moment.
type modelView struct {
	value   string
	err     error
	blocked bool
	ended   bool
	wrong   string
}

func (w *modelWatcher) view() modelView {
	w.mu.Lock()
	defer w.mu.Unlock()
	return modelView{w.value, w.err, w.blocked, w.ended, w.wrong}
}

// A modelKind is the kind of an error.
type modelKind string

const (
	noError       modelKind = ""
	isInvalid     modelKind = "invalid"
	isRemoved     modelKind = "removed"
	isNotFound    modelKind = "not found"
	isTimeout     modelKind = "timeout"
	isTransport   modelKind = "transport"
	isDenied      modelKind = "denied"
	isUnavailable modelKind = "unavailable"
	isUnknown     modelKind = "of no kind"
)

// kindOf returns the kind of an error that a watcher received.
func kindOf(err error) modelKind {
	switch {
	case err == nil:
		return noError
	case errors.Is(err, resource.ErrInvalid):
		return isInvalid
	case errors.Is(err, resource.ErrRemoved):
		return isRemoved
	case errors.Is(err, resource.ErrNotFound):
		return isNotFound
	case errors.Is(err, resource.ErrTimeout):
		return isTimeout
	case errors.Is(err, resource.ErrDenied):
		return isDenied
	case errors.Is(err, resource.ErrUnavailable):
		return isUnavailable
	case errors.Is(err, resource.ErrTransport):
		return isTransport
	}
	return isUnknown
}
