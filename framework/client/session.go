package client

import (
	"context"
	"log/slog"
	"time"

	"github.com/xdsforge/xdsforge/framework/internal/ads"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/status"
	"github.com/xdsforge/xdsforge/internal/envelope"
	"github.com/xdsforge/xdsforge/internal/feature"
)

// A session is the ADS of one server entry: its machine, the authorities that may use it, and its
// current stream. It belongs to the loop.
type session struct {
	link
	machine *ads.Machine
	users   []user
	counts  counts
	encoded map[*resource.Descriptor]encodedNames // in wire format, if there are many

	stream *stream
	err    error // the reason of the last failed attempt or of the last stream's end
	errAt  time.Time
	up     bool // the stream is open
	// failing means that the server is not connected by gRFC A78: an attempt failed, and no response
	// has arrived since. failures counts how often that began.
	failing  bool
	failures uint64
	traffic  []traffic // of each type with a response

	// subscribed has the names of the last request, for the log. It is nil unless Debug is logged.
	subscribed map[*resource.Descriptor][]string

	nackLogs []*nackLog // one for each type with a rejected response

	oversized bool // a request in state of the world exceeded maxRequest, and the log has a line about it
}

// A user is an authority, with the position of the session's server in its list.
type user struct {
	*authorityScope
	server int
}

// open starts a stream and replaces the current one, if any. It acquires the connection from the
// pool when it is first needed.
func (ses *session) open(l *loop) {
	if ses.stream != nil {
		why := errNoDelta
		if ses.machine.Delta() {
			why = errTooLarge
		}
		ses.log(slog.LevelInfo, "stream ended", "error", why)
		ses.event(status.Event{Kind: status.EventLost, Err: why})
		ses.up = false
		ses.stream.cancel()
	}
	s := &stream{
		session: ses,
		loop:    l,
		delta:   ses.machine.Delta(),
		applied: make(chan struct{}, 1),
		reading: reading{born: time.Now()},

		replied: make(chan struct{}, 1),
		again:   make(chan struct{}, 1),
		cache:   newReaderCache(),
	}
	s.ctx, s.cancel = context.WithCancel(ses.client.ctx)
	ses.stream = s
	if err := ses.connect(s.run); err != nil {
		s.cancel()
		l.post(func() { s.closed(err) })
	}
}

// send encodes a request and sends it. If sent is false, the machine has changed the protocol instead.
func (ses *session) send(e *ads.Request, now time.Time) (sent bool) {
	var node []byte
	if e.First {
		node = ses.client.node
	}
	if e.Reject != "" {
		ses.counts.rejected.Add(1)
		ses.rejected(e, now)
	}
	ses.logSubscription(e)
	if e.Repeated > 0 {
		ses.counts.repeated.Add(uint64(e.Repeated))
		ses.event(status.Event{Kind: status.EventAskedAgain, Type: e.Type.Name, Resources: e.Repeated})
	}
	if e.Delta {
		req := envelope.DeltaRequest{
			Node: node, TypeURL: e.Type.URL(), Subscribe: e.Subscribe, Unsubscribe: e.Unsubscribe,
			Versions: e.Versions, Nonce: e.Nonce, Error: e.Reject,
		}
		ses.stream.send(req.Encode())
		return true
	}
	req := envelope.Request{
		Node: node, TypeURL: e.Type.URL(), Version: e.Version, Nonce: e.Nonce, Encoded: ses.names(e), Error: e.Reject,
	}
	msg := req.Encode()
	if len(msg) > maxRequest && ses.tooLarge(e, len(msg)) {
		return false
	}
	ses.stream.send(msg)
	return true
}

// maxRequest is the limit of the messages that gRPC servers accept by default.
const maxRequest = 4 << 20

// tooLarge reports whether the machine changes to the delta protocol because of a request that most
// servers reject. Requests in state of the world cannot be divided. Otherwise the request is sent,
// because the server may accept larger messages.
func (ses *session) tooLarge(e *ads.Request, size int) (changes bool) {
	changes = ses.machine.PreferDelta()
	if changes || !ses.oversized {
		ses.oversized = true
		advice := "use the delta protocol (server feature " + feature.TransportDelta + "), or raise the limit of the server"
		if changes {
			advice = "the client tries the delta protocol again"
		}
		ses.log(slog.LevelWarn, "request exceeds 4 MiB, which gRPC servers reject by default", "advice", advice,
			"type", e.Type.Name, "names", len(e.Names), "bytes", size)
	}
	return changes
}

// manyNames is the number of names from which their encoding is kept.
const manyNames = 64

// An encodedNames is the last encoding of the names of a type.
type encodedNames struct {
	names []string
	bytes []byte
}

// names encodes the names of a request. Most requests are answers to responses and have the names
// of the previous request.
func (ses *session) names(e *ads.Request) []byte {
	if len(e.Names) < manyNames {
		delete(ses.encoded, e.Type)
		return envelope.EncodeNames(e.Names)
	}
	last := ses.encoded[e.Type]
	if len(last.names) != len(e.Names) || &last.names[0] != &e.Names[0] { // the elements are never changed
		last = encodedNames{e.Names, envelope.EncodeNames(e.Names)}
		ses.encoded[e.Type] = last
	}
	return last.bytes
}

// idle ends the stream and releases the connection until they are needed again. If released is
// true, the pool does not keep the connection for later.
func (ses *session) idle(released bool, now time.Time) {
	if ses.stream != nil {
		why := errUnwatched
		if released {
			why = errSuperseded
		}
		ses.log(slog.LevelInfo, "stream closed by the client", "reason", why)
		if ses.up {
			ses.event(status.Event{Kind: status.EventClosed, Err: why})
		}
		ses.stream.cancel()
		ses.stream = nil
		clear(ses.encoded)
	}
	ses.up, ses.failing = false, false
	ses.disconnect(!released)
	if attributes := ses.outage.over(now); attributes != nil {
		ses.log(slog.LevelInfo, "control plane no longer needed while unreachable", attributes...)
	}
}

// ended records the end of a stream and its reason. After a response, the end is no error for
// watchers (gRFC A57), but an operator looks for it. Without a response it is part of an outage,
// which has its own log lines.
func (ses *session) ended(s *stream, err error, now time.Time) {
	if err != nil {
		ses.err, ses.errAt = err, now
	}
	if ses.up {
		ses.event(status.Event{Kind: status.EventLost, Err: brief(err)})
	}
	switch {
	case !s.answered, ses.client.closed():
	case err == nil:
		ses.log(slog.LevelInfo, "stream closed by the control plane")
	default:
		ses.log(slog.LevelInfo, "stream ended", "error", err)
	}
}

// lost records that the server is unreachable.
func (ses *session) lost(err error, now time.Time) {
	if err == nil {
		return
	}
	ses.err, ses.errAt = err, now
	if !ses.failing {
		ses.failing = true
		ses.failures++
	}
	if ses.outage.failed(err, now) {
		if !ses.up { // else its end is an event
			ses.event(status.Event{Kind: status.EventLost, Err: brief(err)})
		}
		ses.log(slog.LevelWarn, "control plane unreachable", "error", err)
		return
	}
	ses.log(slog.LevelDebug, "control plane still unreachable", "error", err, "attempts", ses.outage.attempts)
}

// healthy records that the server is reachable.
func (ses *session) healthy(now time.Time) {
	if attributes := ses.outage.over(now); attributes != nil {
		ses.log(slog.LevelInfo, "control plane reachable again", attributes...)
	}
}
