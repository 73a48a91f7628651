package client

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// A stream is one ADS stream. One goroutine reads, another one writes. Neither waits for the other.
type stream struct {
	channel *channel
	loop    *loop
	delta   bool
	ctx     context.Context
	cancel  context.CancelFunc
	out     chan []byte   // requests for the writing goroutine; never more than one
	applied chan struct{} // a token when the last response has been applied
	// replied has a token when a question was answered. again has one when resources of the last
	// response are watched that were not when it was decoded.
	replied, again chan struct{}
	desk           *desk
	news           bool // the response changed something; set before the token

	reading  reading
	answered bool // the loop has applied a response; loop only
}

// counts counts the traffic of a channel's streams.
type counts struct {
	opened              atomic.Uint64
	requests, responses atomic.Uint64
	sent, received      atomic.Uint64 // bytes
	rejected            atomic.Uint64 // responses
	repeated            atomic.Uint64 // names that were requested again because the server did not answer
}

// current reports whether the stream is its channel's. Loop only.
func (s *stream) current() bool { return s.channel.stream == s }

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
	s.channel.counts.opened.Add(1)
	arriver, _ := ts.(transport.Arriver)
	s.loop.post(func() { s.opened(arriver) })
	s.channel.client.wg.Go(func() { s.write(ts) })
	err = s.read(ts)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	s.loop.post(func() { s.closed(err) })
}

// write sends the requests of the loop. If sending fails, the stream has ended, and reading returns
// the reason.
func (s *stream) write(ts transport.Stream) {
	for {
		select {
		case <-s.ctx.Done():
			return
		case msg := <-s.out:
			s.channel.counts.requests.Add(1)
			s.channel.counts.sent.Add(uint64(len(msg)))
			if ts.Send(msg) != nil {
				return
			}
			s.loop.post(s.written)
		}
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
		s.reading.arrived(began)
		s.channel.counts.responses.Add(1)
		for _, piece := range msg {
			s.channel.counts.received.Add(uint64(len(piece)))
		}
		if err := s.desk.use(func(known memory) error { return s.respond(msg, known) }); err != nil {
			return err
		}
		s.next() // timers run during the pause: a flood must not delay the report of an absent resource
		if err := pace.wait(s.ctx, time.Since(began), s.news); err != nil {
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
func (s *stream) respond(msg [][]byte, known memory) error {
	c := s.channel.client
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
		s.channel.log(slog.LevelDebug, "response of a type that is not registered", "type_url", printable.Text(w.response.TypeURL, printable.Short))
		s.news = false
	}
	w.forget()
	c.scratches.Put(w)
	return nil
}

// maxLooks is the limit of passes over a response for watched resources. A steady flow of new
// watches of the type must not keep the loop from applying the response. Later watches bring
// requests, and these ask for their resources.
const maxLooks = 16

// take decodes the response in w and passes it to the loop. Before the loop applies it, take
// decodes the skipped resources that are watched by now.
func (s *stream) take(w *scratch, t *resource.Descriptor, known memory) error {
	c := s.channel.client
	d, ok := s.decode(w, t, known)
	for looks := 1; ; looks++ {
		switch {
		case c.closed(): // decoding may be incomplete
			return resource.ErrClosed
		case !ok:
			return s.ctx.Err()
		}
		d.last = looks == maxLooks
		s.loop.post(func() { s.received(&d) })
		select {
		case <-s.applied:
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
func (p *pace) wait(ctx context.Context, took time.Duration, news bool) error {
	p.idle++
	if news {
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
