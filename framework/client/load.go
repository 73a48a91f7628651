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
		ch.store = load.NewStore(func() { c.loop.post(filled{ch}) })
		c.loads.channels[server.Key()] = ch
	}
	return ch.store, nil
}

// The events of load reporting. The loop ignores events of a stream that its channel has replaced.
type (
	filled     struct{ ch *loadChannel }
	loadOpened struct{ s *loadStream }
	reported   struct{ s *loadStream }
	instructed struct {
		s            *loadStream
		instructions lrs.Instructions
	}
	loadClosed struct {
		s   *loadStream
		err error
	}
)

func (e filled) apply(l *loop, now time.Time) {
	if !slices.Contains(l.loads, e.ch) {
		l.loads = append(l.loads, e.ch)
	}
	l.weigh(e.ch, now)
}

func (e loadOpened) apply(l *loop, now time.Time) {
	if e.s.current() {
		l.toLoad(e.s.channel, lrs.Opened{}, now)
	}
}

func (e reported) apply(l *loop, now time.Time) {
	if e.s.current() {
		l.toLoad(e.s.channel, lrs.Written{}, now)
		l.weigh(e.s.channel, now)
	}
}

func (e instructed) apply(l *loop, now time.Time) {
	if e.s.current() {
		if attributes := e.s.channel.outage.over(now); attributes != nil {
			e.s.channel.log(slog.LevelInfo, "load can be reported again", attributes...)
		}
		l.toLoad(e.s.channel, lrs.Received{Instructions: e.instructions}, now)
	}
	e.s.resume()
}

func (e loadClosed) apply(l *loop, now time.Time) {
	if e.s.current() {
		e.s.channel.stream = nil
		l.toLoad(e.s.channel, lrs.Closed{Err: printable.Error(e.err), Unimplemented: errors.Is(e.err, transport.ErrUnimplemented)}, now)
		l.weigh(e.s.channel, now)
	}
}

// weigh tells a machine whether its store has something to report.
func (l *loop) weigh(ch *loadChannel, now time.Time) {
	l.toLoad(ch, lrs.Want{Wanted: !ch.store.Empty()}, now)
}

// toLoad passes an event to a load channel's machine and carries out its effects.
func (l *loop) toLoad(ch *loadChannel, ev lrs.Event, now time.Time) {
	for _, e := range ch.machine.Handle(ev, now) {
		switch e := e.(type) {
		case lrs.Open:
			ch.open(l)
		case lrs.Greet:
			ch.stream.out <- nil
		case lrs.Report:
			ch.stream.out <- &e.Scope
		case lrs.Bounded:
			ch.log(slog.LevelWarn, "the server wants load reports at an interval out of bounds", "asked", e.Asked, "used", e.Used)
		case lrs.Truncated:
			ch.log(slog.LevelWarn, "the server lists too many clusters for load reports; the rest is ignored", "limit", lrs.MaxClusters, "ignored", e.Ignored)
		case lrs.Lost:
			ch.lost(e, now)
		case lrs.Idle:
			ch.rest()
		}
	}
}

// open starts a stream.
func (ch *loadChannel) open(l *loop) {
	s := newLoadStream(ch, l)
	ch.stream = s
	conn, release, err := ch.client.pool.acquire(ch.server)
	if err != nil {
		s.cancel()
		l.post(loadClosed{s, err})
		return
	}
	ch.conn, ch.release = conn, release
	ch.client.wg.Go(func() { s.run(conn) })
}

// lost releases the connection: ADS may need it, but a pause between two attempts to report does
// not. It also forgets the load of clusters that have been unused for long, because it cannot be
// reported.
func (ch *loadChannel) lost(e lrs.Lost, now time.Time) {
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
