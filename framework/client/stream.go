package client

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/xdsforge/xdsforge/framework/internal/ads"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/status"
	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// A stream is one ADS stream. One goroutine reads. Each request has a goroutine that sends it, so an idle
// stream has none that writes. Neither waits for the other.
type stream struct {
	session *session
	loop    *loop
	delta   bool
	ctx     context.Context
	cancel  context.CancelFunc
	conn    transport.Stream // nil until it is open; loop only
	applied chan struct{}    // a token when the last response has been applied
	// replied has a token when a question was answered. again has one when resources of the last
	// response are watched that were not when it was decoded.
	replied, again chan struct{}
	cache          *readerCache
	changed        bool // the response changed something; set before the token

	reading  reading
	arrived  time.Time // of the last response; the reader's
	answered bool      // the loop has applied a response; loop only
}

// counts counts the traffic of a session's streams.
type counts struct {
	opened              atomic.Uint64
	requests, responses atomic.Uint64
	sent, received      atomic.Uint64 // bytes
	rejected            atomic.Uint64 // responses
	repeated            atomic.Uint64 // names that were requested again because the server did not answer
}

// current reports whether the stream is its session's. Loop only.
func (s *stream) current() bool { return s.session.stream == s }

// resume allows the next response to be read.
func (s *stream) resume() { s.applied <- struct{}{} }

func (s *stream) run(conn transport.Conn) {
	defer s.cancel()
	method := transport.MethodADS
	if s.delta {
		method = transport.MethodDeltaADS
	}
	ts, err := conn.OpenStream(s.ctx, method)
	if err != nil {
		s.loop.post(func() { s.closed(err) })
		return
	}
	s.session.counts.opened.Add(1)
	s.loop.post(func() { s.opened(ts) })
	err = s.read(ts)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	s.loop.post(func() { s.closed(err) })
}

// send sends a request on a goroutine of its own. Requests keep their order, because the machine has only
// one in flight. Loop only.
func (s *stream) send(msg []byte) {
	ts := s.conn
	c := s.session.client
	c.wg.Add(1)
	c.goroutines.start(func() {
		defer c.wg.Done()
		s.write(ts, msg)
	})
}

// write sends a request. If sending fails, the stream has ended, and reading returns the reason.
func (s *stream) write(ts transport.Stream, msg []byte) {
	if s.ctx.Err() != nil {
		return
	}
	s.session.counts.requests.Add(1)
	s.session.counts.sent.Add(uint64(len(msg)))
	if ts.Send(msg) == nil {
		s.loop.lend(s.written)
	}
}

// read decodes responses one after another. It reads the next one when the loop has applied the
// last one and watchers have had their time.
func (s *stream) read(ts transport.Stream) error {
	var pace pace
	for {
		msg, err := receive(ts)
		if err != nil {
			return err
		}
		began := time.Now()
		s.arrived = began
		s.reading.arrived(began)
		s.session.counts.responses.Add(1)
		for _, piece := range msg {
			s.session.counts.received.Add(uint64(len(piece)))
		}
		if err := s.cache.use(func(known typeCaches) error { return s.respond(msg, known) }); err != nil {
			return err
		}
		s.next() // timers run during the pause: a flood must not delay the report of an absent resource
		if err := pace.wait(s.ctx, time.Since(began), s.changed); err != nil {
			return err
		}
	}
}

// receive waits for a message and returns it in the pieces in which it arrived.
func receive(ts transport.Stream) ([][]byte, error) {
	if ts, ok := ts.(transport.PieceReceiver); ok {
		return ts.ReceivePieces()
	}
	msg, err := ts.Receive()
	return [][]byte{msg}, err
}

// respond decodes a response and waits until the loop has applied it.
func (s *stream) respond(msg [][]byte, known typeCaches) error {
	c := s.session.client
	w, ok := c.scratches.Get().(*scratch)
	if !ok {
		w = new(scratch)
	}
	if err := w.response.ParsePieces(msg, s.delta); err != nil {
		return err
	}
	t, ok := c.decoded.LookupURL(w.response.TypeURL)
	if ok {
		if err := s.take(w, t, known); err != nil {
			return err // the loop may still use w
		}
	} else { // the response is neither accepted nor rejected
		s.session.log(slog.LevelDebug, "response of a type that is not registered", "type_url", printable.Text(w.response.TypeURL, printable.Short))
		s.changed = false
	}
	w.release()
	c.scratches.Put(w)
	return nil
}

// maxLooks is the limit of passes over a response for watched resources. A steady flow of new
// watches of the type must not keep the loop from applying the response. Later watches bring
// requests, and these ask for their resources.
const maxLooks = 16

// take decodes the response in w and passes it to the loop. Before the loop applies it, take
// decodes the skipped resources that are watched by now.
func (s *stream) take(w *scratch, t *resource.Descriptor, known typeCaches) error {
	c := s.session.client
	span := c.spans.response(s.session, t, s.arrived)
	if span != nil {
		defer span.End()
	}
	d, ok := s.decode(w, t, known)
	for looks := 1; ; looks++ {
		switch {
		case c.closed(): // decoding may be incomplete
			return resource.ErrClosed
		case !ok:
			return s.ctx.Err()
		}
		d.last = looks == maxLooks
		s.loop.lend(func() { s.received(&d) })
		select {
		case <-s.applied:
			if span != nil {
				d.describe(span)
			}
			if !s.delta {
				known.remember(c, &d)
			}
			return nil
		case <-s.again:
			d, ok = s.more(w, t)
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
}

// A pace limits the cost of a control plane that keeps sending known resources to a fifth of one
// processor.
type pace struct {
	idle  int // responses in a row without changes
	timer *time.Timer
}

const (
	freeResponses = 64 // without changes, at full speed
	shortestPause = time.Millisecond
	longestPause  = time.Second
)

// wait is called after each response, with the time that it took.
func (p *pace) wait(ctx context.Context, took time.Duration, changed bool) error {
	p.idle++
	if changed {
		p.idle = 0
	}
	if p.idle <= freeResponses {
		return nil
	}
	pause := min(max(4*took, shortestPause), longestPause)
	if p.timer == nil {
		p.timer = time.NewTimer(pause)
	} else {
		p.timer.Reset(pause)
	}
	defer p.timer.Stop()
	select {
	case <-p.timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// opened handles the start of the stream.
func (s *stream) opened(ts transport.Stream) {
	if s.current() {
		s.conn = ts
		s.reading.arriver, _ = ts.(transport.Arriver)
		s.session.up = true
		s.session.event(status.Event{Kind: status.EventConnected})
		s.session.machine.Opened(s.loop.now)
	}
}

// written handles the end of a write.
func (s *stream) written() {
	if s.current() {
		s.session.machine.Written()
		s.loop.stream(s.session)
	}
}

// closed handles the end of the stream.
func (s *stream) closed(cause error) {
	if !s.current() {
		return
	}
	ses, l, err := s.session, s.loop, printable.Error(cause)
	ses.stream = nil
	clear(ses.encoded)
	ses.ended(s, err, l.now)
	ses.machine.Closed(err, errors.Is(cause, transport.ErrUnimplemented), l.now)
	l.stream(ses)
	ses.up = ses.up && ses.stream != nil
	if s.delta && !ses.machine.Delta() {
		ses.log(slog.LevelInfo, "the control plane does not support the delta protocol", "error", err)
	}
}

// received handles a decoded response. It sends the reader back if more of its resources are watched
// by now.
func (s *stream) received(d *decoded) {
	if !s.current() {
		s.resume()
		return
	}
	ses, l := s.session, s.loop
	if d.left > 0 && !d.last && ses.generation(d.typ) != d.generation {
		s.again <- struct{}{}
		return
	}
	s.answered = true
	s.pause()
	ses.responded(d)
	if d.reject != "" {
		ses.nacks(d.typ).name(d.rejected)
	}
	requested := ses.machine.Requests(d.typ)
	l.changed, l.delivery = false, newDelivery(l.client, s.resume)
	resp := ads.Response{
		Type: d.typ, Version: d.version, Nonce: d.nonce, Reject: d.reject, Digest: d.digest, Bad: d.bad, Resources: d.resources,
	}
	ses.machine.Received(&resp, l.now)
	l.stream(ses)
	if requested {
		d.apply(l, ses)
	}
	s.changed = l.changed
	l.delivery.handed()
	l.delivery = nil
}
