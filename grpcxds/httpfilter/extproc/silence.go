package extproc

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/grpcxds/internal/sidechannel"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// A silence is the time for which a call waits for a processor that sends nothing. The mutex of the exchange guards it.
type silence struct {
	waiting bool
	since   time.Time   // the begin of the silence, if waiting
	timer   *time.Timer // nil: no event was sent
	armed   bool        // the timer runs
	sends   int         // events that goroutines send
	blocked int         // messages that wait for the window of the processor
}

// expect begins a silence, unless there is one. The caller holds the mutex.
func (x *exchange) expect() {
	s := &x.silence
	if s.waiting {
		return
	}
	s.waiting, s.since = true, time.Now()
	switch limit := x.config.AnswerTimeout(); {
	case s.timer == nil:
		s.timer, s.armed = time.AfterFunc(limit, x.expire), true
	case !s.armed:
		s.timer.Reset(limit)
		s.armed = true
	}
}

// heard ends a silence, and begins another if the processor owes more. The caller holds the mutex.
func (x *exchange) heard() {
	x.silence.waiting = false
	if x.owes() {
		x.expect()
	}
}

// settle ends a silence if the processor owes nothing. The caller holds the mutex.
func (x *exchange) settleSilence() {
	x.silence.waiting = x.silence.waiting && x.owes()
}

// owes reports whether the call waits for the processor: to read an event, to answer to headers, to open its window, or to return the
// end of a direction. It owes no message, because it may keep messages for as long as it wants (A93), and nothing behind messages for
// which the filter has opened no window.
func (x *exchange) owes() bool {
	s := &x.silence
	switch {
	case x.phase > draining:
		return false
	case s.sends > 0 || s.blocked > 0:
		return true
	case x.config.ObservabilityMode:
		return false
	case x.request.headers.pending(), x.response.headers.pending():
		return true
	case x.response.credit > 0 && (x.trailers.pending() || x.response.drain == flushing):
		return true
	}
	return x.request.credit > 0 && (x.drained || x.request.drain == flushing || x.request.finished && !x.request.ended && x.request.drain == undrained)
}

// pending reports whether the processor has not answered to an event.
func (r *reply) pending() bool { return r.sent && !r.answered }

// expire ends a silence that lasts too long.
func (x *exchange) expire() {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := &x.silence
	s.armed = false
	x.settleSilence()
	if !s.waiting {
		return
	}
	limit := x.config.AnswerTimeout()
	if rest := limit - time.Since(s.since); rest > 0 {
		s.timer.Reset(rest)
		s.armed = true
		return
	}
	x.stopLocked(x.silent(limit))
}

// A silenceError is the failure of a processor that is silent. Overflow reports whether other calls are the reason.
type silenceError struct {
	text     string
	overflow bool
}

// Error implements error.
func (e *silenceError) Error() string { return e.text }

// Overflow implements the test of [sidechannel.Crowded].
func (e *silenceError) Overflow() bool { return e.overflow }

// silent returns the failure. Without a stream, a connection means that other calls use all its streams. It may have ended since.
func (x *exchange) silent(limit time.Duration) error {
	if !x.begun && (x.connected.Load() || sidechannel.Connected(x.channel)) {
		return &silenceError{fmt.Sprintf("other calls to the processor use all streams of the connection for %v; raise the processor's limit of concurrent streams", limit), true}
	}
	return &silenceError{fmt.Sprintf("the processor is silent for %v; it must answer within message_timeout", limit), false}
}

// stopLocked handles a stream that has failed.
func (x *exchange) stopLocked(err error) {
	if x.phase >= failed {
		return
	}
	if x.config.FailureModeAllow && (x.config.ObservabilityMode || !x.request.exposed && !x.response.exposed && x.forgives(err)) {
		x.phase = passing
		x.cond.Broadcast()
		x.cancel()
		return
	}
	x.failLocked(status.Error(codes.Internal, "extproc: "+printable.Error(err).Error()))
}

// forgives reports whether FailureModeAllow lets the call continue after a failure. Failures that a caller can cause end it: by
// the content of the call or the number of calls, by messages for which the processor waits, and by a call that outlasts
// the time limit of the stream. A processor that has answered to nothing had the whole time limit.
func (x *exchange) forgives(err error) bool {
	var silent *silenceError
	m := &x.config.Modes
	// A processor may cancel the stream at the time limit.
	late := status.Code(err) == codes.DeadlineExceeded || status.Code(err) == codes.Canceled
	switch {
	case errors.Is(err, errTooLarge), !sidechannel.Forgivable(err):
		return false
	case x.begun && (late || errors.As(err, &silent)) && (m.RequestMessages || m.ResponseMessages):
		return false
	case late && (x.request.headers.answered || x.response.headers.answered):
		return !x.unseen()
	}
	return true
}

// unseen reports whether the modes select events that the processor has not answered to.
func (x *exchange) unseen() bool {
	m := &x.config.Modes
	return m.ResponseHeaders && !x.response.headers.answered || m.ResponseTrailers && !x.trailers.answered
}
