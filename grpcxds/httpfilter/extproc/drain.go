package extproc

import (
	"errors"

	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
)

// A drain is the state of a direction whose messages the processor no longer wants (A93).
type drain int

const (
	undrained drain = iota
	asked           // the processor has asked for the drain
	flushing        // the filter has sent drain_complete, and the processor returns the messages it has
	drained         // the processor has sent drain_complete: messages pass
)

// ask begins a drain if the processor wants it. After the end of the direction there is nothing to drain.
func (d *direction) ask(wanted bool) {
	if wanted && d.drain == undrained && !d.finished && !d.ended {
		d.drain = asked
	}
}

// sendEnds sends the last events of the directions and of the stream that drain. If another goroutine sends an event, that one
// half-closes the stream.
func (x *exchange) sendEnds() {
	x.mu.Lock()
	drained := x.drained
	x.mu.Unlock()
	if drained {
		x.halfClose()
		return
	}
	x.completeDrain(&x.request)
	x.completeDrain(&x.response)
}

// completeDrain sends drain_complete of a direction whose drain the processor has asked for. It follows the headers of the direction.
// A direction that has ended needs no drain (A93).
func (x *exchange) completeDrain(d *direction) {
	x.mu.Lock()
	early := d == &x.response && x.config.Modes.ResponseHeaders && !d.headers.written
	if d.drain == asked && d.finished {
		d.drain = undrained
		x.cond.Broadcast()
	}
	send, first := d.drain == asked && !early, !d.began
	if send {
		d.began = true
	}
	x.mu.Unlock()
	if !send {
		return
	}
	m := x.messageEvent(d, &extprocv3.HttpBody{DrainComplete: true})
	if first {
		m.Attributes = x.attributes(d)
	}
	if err := x.write(m); errors.Is(err, errTooLarge) { // else the receiver gets the status of the stream
		x.mu.Lock()
		x.stopLocked(err)
		x.mu.Unlock()
	}
}

// halfClose half-closes the stream. It returns false if another goroutine sends an event, which then half-closes it if the
// processor drains.
func (x *exchange) halfClose() bool {
	if !x.sending.TryLock() {
		return false
	}
	defer x.sending.Unlock()
	if x.stream != nil && !x.closed {
		x.closed = true
		x.lastCredit()
		x.mu.Lock()
		x.halfClosed = true
		x.mu.Unlock()
		_ = x.stream.CloseSend() // the receiver gets the status
	}
	return true
}

// lastCredit lets the processor return all messages that it has. It gets no window updates after the half-close.
func (x *exchange) lastCredit() {
	x.mu.Lock()
	needed := x.phase == draining
	for _, d := range []*direction{&x.request, &x.response} {
		d.unreturned += max(d.sent-d.received, 0)
	}
	x.mu.Unlock()
	if m := new(extprocv3.ProcessingRequest); needed && x.addCredit(m) {
		_ = x.stream.Send(m) // the receiver gets the status
	}
}

// released reports whether the processor has no message that the call needs (A93). After the response to the trailers, the call needs
// no requests, although the client may have sent no half-close.
func (x *exchange) released() bool {
	if x.trailers.answered || x.only && x.response.headers.answered {
		return true
	}
	settled := func(d *direction) bool { return !d.exposed || d.drain == drained || d.ended }
	return x.drained && x.halfClosed || settled(&x.request) && settled(&x.response)
}
