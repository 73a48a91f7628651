package client

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

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
	channels map[string]*loadChannel // by the server's key; each stays until Close
}

// A loadChannel reports the load of its store to one server entry. It belongs to the loop, except
// for the store.
type loadChannel struct {
	client  *Client
	server  *bootstrap.Server
	store   *load.Store
	machine *lrs.Machine

	conn    transport.Conn
	release giveBack // of conn
	outage  outage
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
	ch, ok := c.loads.channels[server.Key()]
	if !ok {
		ch = &loadChannel{client: c, server: server, machine: lrs.New(c.loads.config)}
		ch.store = load.NewStore(func() { c.loop.post(ch.filled) })
		c.loads.channels[server.Key()] = ch
	}
	return ch.store, nil
}

// filled handles a store that has something to report. Loop only, as the methods below.
func (ch *loadChannel) filled() {
	l := ch.client.loop
	if !slices.Contains(l.loads, ch) {
		l.loads = append(l.loads, ch)
	}
	l.weigh(ch)
}

func (s *loadStream) opened() {
	if s.current() {
		s.channel.machine.Opened(s.loop.now)
		s.loop.load(s.channel)
	}
}

func (s *loadStream) written() {
	if s.current() {
		s.channel.machine.Written(s.loop.now)
		s.loop.load(s.channel)
		s.loop.weigh(s.channel)
	}
}

func (s *loadStream) received(in lrs.Instructions) {
	if s.current() {
		if attributes := s.channel.outage.over(s.loop.now); attributes != nil {
			s.channel.log(slog.LevelInfo, "load can be reported again", attributes...)
		}
		s.channel.machine.Received(in, s.loop.now)
		s.loop.load(s.channel)
	}
	s.resume()
}

func (s *loadStream) closed(err error) {
	if s.current() {
		s.channel.stream = nil
		s.channel.machine.Closed(printable.Error(err), errors.Is(err, transport.ErrUnimplemented), s.loop.now)
		s.loop.load(s.channel)
		s.loop.weigh(s.channel)
	}
}

// weigh tells a machine whether its store has something to report.
func (l *loop) weigh(ch *loadChannel) {
	ch.machine.Want(!ch.store.Empty(), l.now)
	l.load(ch)
}

// load carries out the effects of a machine that reports load.
func (l *loop) load(ch *loadChannel) {
	r := ch.machine.Ready()
	if r.StreamEnded != nil {
		ch.lost(r.StreamEnded, l.now)
	}
	if c := r.IntervalClamped; c != nil {
		ch.log(slog.LevelWarn, "the server wants load reports at an interval out of bounds", "asked", c.Asked, "used", c.Used)
	}
	if r.Truncated > 0 {
		ch.log(slog.LevelWarn, "the server lists too many clusters for load reports; the rest is ignored", "limit", lrs.MaxClusters, "ignored", r.Truncated)
	}
	if r.Idle {
		ch.rest()
	}
	if r.Open {
		ch.open(l)
	}
	if r.SendNode {
		ch.stream.out <- nil
	}
	if r.Report != nil {
		ch.stream.out <- r.Report
	}
}

// open starts a stream.
func (ch *loadChannel) open(l *loop) {
	s := newLoadStream(ch, l)
	ch.stream = s
	conn, release, err := ch.client.pool.acquire(ch.server)
	if err != nil {
		s.cancel()
		l.post(func() { s.closed(err) })
		return
	}
	ch.conn, ch.release = conn, release
	ch.client.wg.Go(func() { s.run(conn) })
}

// lost releases the connection: ADS may need it, but a pause between two attempts to report does
// not. It also forgets the load of clusters that have been unused for long, because it cannot be
// reported.
func (ch *loadChannel) lost(e *lrs.End, now time.Time) {
	ch.letGo()
	level := slog.LevelDebug
	if e.Err != nil && ch.outage.failed(e.Err, now) {
		level = slog.LevelWarn
	}
	switch {
	case e.Unimplemented:
		ch.store.Forget(now)
		ch.log(level, "the server does not support load reports", "error", e.Err, "retry_at", e.RetryAt)
	case e.Err != nil:
		ch.store.Forget(now.Add(-remainderTime))
		ch.log(level, "load cannot be reported", "error", e.Err, "retry_at", e.RetryAt)
	default:
		ch.log(slog.LevelInfo, "the server closed the stream of load reports")
	}
}

// rest ends the stream until there is something to report again.
func (ch *loadChannel) rest() {
	if ch.stream != nil {
		ch.stream.cancel()
		ch.stream = nil
	}
	ch.letGo()
	ch.outage = outage{}
}

func (ch *loadChannel) letGo() {
	if ch.conn != nil {
		ch.release(true)
		ch.conn = nil
	}
}

func (ch *loadChannel) log(level slog.Level, msg string, args ...any) {
	ch.client.log(ch.server, level, msg, args...)
}
