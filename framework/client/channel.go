package client

import (
	"context"
	"log/slog"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/internal/ads"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/internal/envelope"
)

// A channel is the ADS of one server entry: its machine, the authorities that may use it, and its
// current stream. It belongs to the loop.
type channel struct {
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

// A user is an authority, with the position of the channel's server in its list.
type user struct {
	*authorityScope
	server int
}

// open starts a stream and replaces the current one, if any. It acquires the connection from the
// pool when it is first needed.
func (ch *channel) open(l *loop) {
	if ch.stream != nil {
		ch.log(slog.LevelInfo, "stream ended: the control plane does not answer the delta protocol")
		ch.stream.cancel()
	}
	s := &stream{
		channel: ch,
		loop:    l,
		delta:   ch.machine.Delta(),
		out:     make(chan []byte, 1),
		applied: make(chan struct{}, 1),
		reading: reading{born: time.Now()},

		replied: make(chan struct{}, 1),
		again:   make(chan struct{}, 1),
		desk:    newDesk(),
	}
	s.ctx, s.cancel = context.WithCancel(ch.client.ctx)
	ch.stream = s
	if ch.conn == nil {
		conn, release, err := ch.client.pool.acquire(ch.server)
		if err != nil {
			s.cancel()
			l.post(func() { s.closed(err) })
			return
		}
		ch.conn, ch.release = conn, release
	}
	conn := ch.conn
	ch.client.wg.Go(func() { s.run(conn) })
}

// send encodes a request and passes it to the writing goroutine. That goroutine is idle, because
// the machine has only one request in flight.
func (ch *channel) send(e *ads.Request, now time.Time) {
	var node []byte
	if e.First {
		node = ch.client.node
	}
	if e.Reject != "" {
		ch.counts.rejected.Add(1)
		ch.rejected(e, now)
	}
	ch.counts.repeated.Add(uint64(e.Repeated)) //nolint:gosec // not negative
	if e.Delta {
		req := envelope.DeltaRequest{
			Node: node, TypeURL: e.Type.URL(), Subscribe: e.Subscribe, Unsubscribe: e.Unsubscribe,
			Versions: e.Versions, Nonce: e.Nonce, Error: e.Reject,
		}
		ch.stream.out <- req.Encode()
		return
	}
	req := envelope.Request{
		Node: node, TypeURL: e.Type.URL(), Version: e.Version, Nonce: e.Nonce, Encoded: ch.names(e), Error: e.Reject,
	}
	ch.stream.out <- req.Encode()
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
func (ch *channel) names(e *ads.Request) []byte {
	if len(e.Names) < manyNames {
		delete(ch.encoded, e.Type)
		return envelope.EncodeNames(e.Names)
	}
	last := ch.encoded[e.Type]
	if len(last.names) != len(e.Names) || &last.names[0] != &e.Names[0] { // the elements are never changed
		last = encodedNames{e.Names, envelope.EncodeNames(e.Names)}
		ch.encoded[e.Type] = last
	}
	return last.bytes
}

// rest ends the stream and releases the connection until they are needed again. If released is
// true, the pool does not keep the connection for later.
func (ch *channel) rest(released bool, now time.Time) {
	if ch.stream != nil {
		why := "nothing is watched"
		if released {
			why = "a better server has taken over"
		}
		ch.log(slog.LevelInfo, "stream ended: "+why)
		ch.stream.cancel()
		ch.stream = nil
		clear(ch.encoded)
	}
	ch.letGo(!released)
	if attributes := ch.outage.over(now); attributes != nil {
		ch.log(slog.LevelInfo, "control plane no longer needed while unreachable", attributes...)
	}
}

func (ch *channel) letGo(keep bool) {
	if ch.conn != nil {
		ch.release(keep)
		ch.conn = nil
	}
}

// ended records the end of a stream and its reason. After a response, the end is no error for
// watchers (gRFC A57), but an operator looks for it. Without a response it is part of an outage,
// which has its own log lines.
func (ch *channel) ended(s *stream, err error, now time.Time) {
	if err != nil {
		ch.err, ch.errAt = err, now
	}
	switch {
	case !s.answered, ch.client.closed():
	case err == nil:
		ch.log(slog.LevelInfo, "stream closed by the control plane")
	default:
		ch.log(slog.LevelInfo, "stream ended", "error", err)
	}
}

// lost records that the server is unreachable.
func (ch *channel) lost(err error, now time.Time) {
	if err == nil {
		return
	}
	ch.err, ch.errAt = err, now
	if ch.outage.failed(err, now) {
		ch.log(slog.LevelWarn, "control plane unreachable", "error", err)
		return
	}
	ch.log(slog.LevelDebug, "control plane still unreachable", "error", err, "attempts", ch.outage.attempts)
}

// healthy records that the server is reachable.
func (ch *channel) healthy(now time.Time) {
	if attributes := ch.outage.over(now); attributes != nil {
		ch.log(slog.LevelInfo, "control plane reachable again", attributes...)
	}
}

func (ch *channel) log(level slog.Level, msg string, args ...any) {
	ch.client.log(ch.server, level, msg, args...)
}
