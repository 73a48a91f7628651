package client

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/internal/ads"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/internal/envelope"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// A session is the ADS of one server entry: its machine, the authorities that may use it, and its
// current stream. It belongs to the loop.
type session struct {
	client  *Client
	server  *bootstrap.Server
	machine *ads.Machine
	users   []user
	counts  counts
	encoded map[*resource.Descriptor]encodedNames // in wire format, if there are many

	conn    transport.Conn
	release giveBack // of conn
	stream  *stream
	err     error // the reason of the last failed attempt or of the last stream's end
	errAt   time.Time
	outage  outage

	nackLogs []*nackLog // one for each type with a rejected response
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
		ses.log(slog.LevelInfo, "stream ended: the control plane does not answer the delta protocol")
		ses.stream.cancel()
	}
	s := &stream{
		session: ses,
		loop:    l,
		delta:   ses.machine.Delta(),
		out:     make(chan []byte, 1),
		applied: make(chan struct{}, 1),
		reading: reading{born: time.Now()},

		replied: make(chan struct{}, 1),
		again:   make(chan struct{}, 1),
		cache:   newReaderCache(),
	}
	s.ctx, s.cancel = context.WithCancel(ses.client.ctx)
	ses.stream = s
	if ses.conn == nil {
		conn, release, err := ses.client.pool.acquire(ses.server)
		if err != nil {
			s.cancel()
			l.post(func() { s.closed(err) })
			return
		}
		ses.conn, ses.release = conn, release
	}
	conn := ses.conn
	ses.client.wg.Go(func() { s.run(conn) })
}

// send encodes a request and passes it to the writing goroutine. That goroutine is idle, because
// the machine has only one request in flight.
func (ses *session) send(e *ads.Request, now time.Time) {
	var node []byte
	if e.First {
		node = ses.client.node
	}
	if e.Reject != "" {
		ses.counts.rejected.Add(1)
		ses.rejected(e, now)
	}
	ses.counts.repeated.Add(uint64(e.Repeated)) //nolint:gosec // not negative
	if e.Delta {
		req := envelope.DeltaRequest{
			Node: node, TypeURL: e.Type.URL(), Subscribe: e.Subscribe, Unsubscribe: e.Unsubscribe,
			Versions: e.Versions, Nonce: e.Nonce, Error: e.Reject,
		}
		ses.stream.out <- req.Encode()
		return
	}
	req := envelope.Request{
		Node: node, TypeURL: e.Type.URL(), Version: e.Version, Nonce: e.Nonce, Encoded: ses.names(e), Error: e.Reject,
	}
	ses.stream.out <- req.Encode()
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
		why := "nothing is watched"
		if released {
			why = "a better server has taken over"
		}
		ses.log(slog.LevelInfo, "stream ended: "+why)
		ses.stream.cancel()
		ses.stream = nil
		clear(ses.encoded)
	}
	ses.disconnect(!released)
	if attributes := ses.outage.over(now); attributes != nil {
		ses.log(slog.LevelInfo, "control plane no longer needed while unreachable", attributes...)
	}
}

func (ses *session) disconnect(keep bool) {
	if ses.conn != nil {
		ses.release(keep)
		ses.conn = nil
	}
}

// ended records the end of a stream and its reason. After a response, the end is no error for
// watchers (gRFC A57), but an operator looks for it. Without a response it is part of an outage,
// which has its own log lines.
func (ses *session) ended(s *stream, err error, now time.Time) {
	if err != nil {
		ses.err, ses.errAt = err, now
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
	if ses.outage.failed(err, now) {
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

func (ses *session) log(level slog.Level, msg string, args ...any) {
	ses.client.log(ses.server, level, msg, args...)
}

// An outage is a time during which a server is unreachable. The log has one line when it begins or
// its reason changes, and one when it is over. Retries in between do not add lines. Only the loop
// uses an outage.
type outage struct {
	since    time.Time // zero: the server is reachable, or its state is unknown
	attempts int       // failed ones
	err      error     // of the last attempt
}

// failed records a failed attempt, and reports whether to log it as an outage.
func (o *outage) failed(err error, now time.Time) (changed bool) {
	if o.since.IsZero() {
		o.since, changed = now, true
	} else {
		changed = !alike(err, o.err)
	}
	o.attempts++
	o.err = err
	return changed
}

// over ends the outage. It returns the attributes of the log line for the end, or nil if there was
// no outage.
func (o *outage) over(now time.Time) []any {
	if o.since.IsZero() {
		return nil
	}
	attributes := []any{"outage", now.Sub(o.since), "attempts", o.attempts}
	*o = outage{}
	return attributes
}

// alike reports whether two errors are of one kind or have the same text.
func alike(a, b error) bool { return errors.Is(a, b) || a.Error() == b.Error() }

// log writes a line about a server. It makes all texts and errors printable.
func (c *Client) log(server *bootstrap.Server, level slog.Level, msg string, args ...any) {
	if !c.logger.Enabled(c.ctx, level) {
		return
	}
	line := []any{"server", server.URI(), "node", c.nodeID}
	for _, arg := range args {
		switch v := arg.(type) {
		case string:
			arg = printable.Text(v, printable.Whole)
		case error:
			arg = printable.Error(v)
		}
		line = append(line, arg)
	}
	c.logger.Log(c.ctx, level, msg, line...)
}
