package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/internal/lrs"
	"github.com/xdsforge/xdsforge/framework/load"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// remainderTime is how long load without a user is kept for an unreachable server.
const remainderTime = 5 * time.Minute

// loads holds the stores that a client has handed out.
type loads struct {
	config lrs.Config
	node   []byte // encoded

	mu       sync.Mutex
	sessions map[string]*loadSession // by the server's key; each stays until Close
}

// A loadSession reports the load of its store to one server entry. It belongs to the loop, except
// for the store.
type loadSession struct {
	link
	store   *load.Store
	machine *lrs.Machine
	stream  *loadStream
}

// LoadStore returns the store that counts load for reports to a server. Equal entries share a
// store, whichever authority they belong to. While the store has something to report, now or later,
// the client keeps an LRS stream to the server, on the connection of its resources. Close ends it
// without a last report.
//
// The error is [load.ErrServerNotInBootstrap] for a server that is not in the bootstrap (gRFC A47),
// or ErrClosed.
func (c *Client) LoadStore(server *bootstrap.Server) (*load.Store, error) {
	if err := load.CheckServer(c.config, server); err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	if c.closed() {
		return nil, fmt.Errorf("client: %w", resource.ErrClosed)
	}
	c.loads.mu.Lock()
	defer c.loads.mu.Unlock()
	ses, ok := c.loads.sessions[server.Key()]
	if !ok {
		ses = &loadSession{link: link{client: c, server: server}, machine: lrs.New(c.loads.config)}
		ses.store = load.NewStore(func() { c.loop.post(ses.filled) })
		c.loads.sessions[server.Key()] = ses
	}
	return ses.store, nil
}

// Loads returns the counts of each store that LoadStore has returned, by the URI of its server. Stores of equal
// URIs are separate if their entries differ.
func (c *Client) Loads() iter.Seq2[string, []*endpointv3.ClusterStats] {
	return func(yield func(string, []*endpointv3.ClusterStats) bool) {
		c.loads.mu.Lock()
		sessions := slices.Collect(maps.Values(c.loads.sessions))
		c.loads.mu.Unlock()
		for _, ses := range sessions {
			if !yield(ses.server.URI(), ses.store.Totals()) {
				return
			}
		}
	}
}

// filled handles a store that has something to report. Loop only, as the methods below.
func (ses *loadSession) filled() {
	l := ses.client.loop
	if !slices.Contains(l.loads, ses) {
		l.loads = append(l.loads, ses)
	}
	l.weigh(ses)
}

// A loadStream is one LRS stream. One goroutine reads, another one collects load and writes.
// Neither waits for the other.
type loadStream struct {
	session *loadSession
	loop    *loop
	ctx     context.Context
	cancel  context.CancelFunc
	out     chan *load.ClusterFilter // the report to send, nil for the node; never more than one
	applied chan struct{}            // a token when the last response has been applied
}

func newLoadStream(ses *loadSession, l *loop) *loadStream {
	s := &loadStream{session: ses, loop: l, out: make(chan *load.ClusterFilter, 1), applied: make(chan struct{}, 1)}
	s.ctx, s.cancel = context.WithCancel(ses.client.ctx)
	return s
}

func (s *loadStream) opened() {
	if s.current() {
		s.session.machine.Opened(s.loop.now)
		s.loop.load(s.session)
	}
}

func (s *loadStream) written() {
	if s.current() {
		s.session.machine.Written(s.loop.now)
		s.loop.load(s.session)
		s.loop.weigh(s.session)
	}
}

func (s *loadStream) received(in lrs.Instructions) {
	if s.current() {
		if attributes := s.session.outage.over(s.loop.now); attributes != nil {
			s.session.log(slog.LevelInfo, "load can be reported again", attributes...)
		}
		s.session.machine.Received(in, s.loop.now)
		s.loop.load(s.session)
	}
	s.resume()
}

func (s *loadStream) closed(err error) {
	if s.current() {
		s.session.stream = nil
		s.session.machine.Closed(printable.Error(err), errors.Is(err, transport.ErrUnimplemented), s.loop.now)
		s.loop.load(s.session)
		s.loop.weigh(s.session)
	}
}

// weigh tells a machine whether its store has something to report.
func (l *loop) weigh(ses *loadSession) {
	ses.machine.Want(!ses.store.Empty(), l.now)
	l.load(ses)
}

// load carries out the effects of a machine that reports load.
func (l *loop) load(ses *loadSession) {
	r := ses.machine.Ready()
	if r.StreamEnded != nil {
		ses.lost(r.StreamEnded, l.now)
	}
	if c := r.IntervalClamped; c != nil {
		ses.log(slog.LevelWarn, "the server wants load reports at an interval out of bounds", "asked", c.Asked, "used", c.Used)
	}
	if r.Truncated > 0 {
		ses.log(slog.LevelWarn, "the server lists too many clusters for load reports; the rest is ignored", "limit", lrs.MaxClusters, "ignored", r.Truncated)
	}
	if r.Idle {
		ses.idle()
	}
	if r.Open {
		ses.open(l)
	}
	if r.SendNode {
		ses.stream.out <- nil
	}
	if r.Report != nil {
		ses.stream.out <- r.Report
	}
}

// open starts a stream.
func (ses *loadSession) open(l *loop) {
	s := newLoadStream(ses, l)
	ses.stream = s
	if err := ses.connect(s.run); err != nil {
		s.cancel()
		l.post(func() { s.closed(err) })
	}
}

// lost releases the connection: ADS may need it, but a pause between two attempts to report does
// not. It also forgets the load of clusters that have been unused for long, because it cannot be
// reported.
func (ses *loadSession) lost(e *lrs.End, now time.Time) {
	ses.disconnect(true)
	level := slog.LevelDebug
	if e.Err != nil && ses.outage.failed(e.Err, now) {
		level = slog.LevelWarn
	}
	switch {
	case e.Unimplemented:
		ses.store.Forget(now)
		ses.log(level, "the server does not support load reports", "error", e.Err, "retry_at", e.RetryAt)
	case e.Err != nil:
		ses.store.Forget(now.Add(-remainderTime))
		ses.log(level, "load cannot be reported", "error", e.Err, "retry_at", e.RetryAt)
	default:
		ses.log(slog.LevelInfo, "the server closed the stream of load reports")
	}
}

// idle ends the stream until there is something to report again.
func (ses *loadSession) idle() {
	if ses.stream != nil {
		ses.stream.cancel()
		ses.stream = nil
	}
	ses.disconnect(true)
	ses.outage = outage{}
}

// current reports whether the stream is its session's. Loop only.
func (s *loadStream) current() bool { return s.session.stream == s }

// resume allows the next response to be read.
func (s *loadStream) resume() { s.applied <- struct{}{} }

// run ends when both directions have ended. Then it is known which reports have been sent.
func (s *loadStream) run(conn transport.Conn) {
	defer s.cancel()
	ts, err := conn.OpenStream(s.ctx, lrs.Method)
	if err != nil {
		s.loop.post(func() { s.closed(err) })
		return
	}
	s.loop.post(s.opened)
	wrote := make(chan error, 1)
	s.session.client.wg.Go(func() { wrote <- s.write(ts) })
	err = s.read(ts)
	s.cancel()
	if w := <-wrote; w != nil {
		err = w
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	s.loop.post(func() { s.closed(err) })
}

// errEnded means that a message could not be sent because the stream has ended. Reading returns the
// reason.
var errEnded = errors.New("the stream has ended")

// write collects load and sends a report whenever the loop asks for one. A report that is not sent
// is part of the next one. Its error is an encoding error.
func (s *loadStream) write(ts transport.Stream) error {
	for {
		select {
		case <-s.ctx.Done():
			return nil
		case scope := <-s.out:
			err := s.send(ts, scope)
			switch {
			case errors.Is(err, errEnded):
				return nil
			case err != nil:
				s.cancel()
				return err
			}
			s.loop.post(s.written)
		}
	}
}

// maxLoadMessage is the limit of a message in bytes, unless it holds only one cluster. It is a
// quarter of the default limit of gRPC servers.
const maxLoadMessage = 1 << 20

// send sends the node, or a report.
func (s *loadStream) send(ts transport.Stream, filter *load.ClusterFilter) error {
	if filter == nil {
		return s.message(ts, s.session.client.loads.node, new(load.Delta))
	}
	for _, part := range s.session.store.Delta(*filter, time.Now()).Split(maxLoadMessage) {
		if err := s.message(ts, nil, part); err != nil {
			return err
		}
		part.Commit()
	}
	return nil
}

func (s *loadStream) message(ts transport.Stream, node []byte, delta *load.Delta) error {
	msg, err := lrs.EncodeRequest(node, delta.Stats)
	if err != nil {
		return err
	}
	if ts.Send(msg) != nil {
		return errEnded
	}
	return nil
}

// read reads the server's instructions. It limits the rate, so that a control plane cannot keep its
// client busy.
func (s *loadStream) read(ts transport.Stream) error {
	var pace pace
	for {
		msg, err := ts.Receive()
		if err != nil {
			return err
		}
		began := time.Now()
		in, err := lrs.ParseResponse(msg)
		if err != nil {
			return err
		}
		s.loop.post(func() { s.received(in) })
		select {
		case <-s.applied:
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
		if err := pace.wait(s.ctx, time.Since(began), false); err != nil {
			return err
		}
	}
}
