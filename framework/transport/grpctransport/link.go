package grpctransport

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"

	"github.com/xdsforge/xdsforge/framework/transport"
)

const (
	// patience is how long a stream waits on a connection at the server's limit of streams, before
	// the transport uses another connection.
	patience = 100 * time.Millisecond
	// idleTime is how long a further connection without streams is kept. It equals the idle time of
	// a pool of package client.
	idleTime = 10 * time.Minute
)

// A link is one ClientConn. The mutex of its conn guards the fields, except limit.
type link struct {
	client  *grpc.ClientConn
	limit   atomic.Uint32         // streams that the server allows
	waiting map[*attempt]struct{} // for a stream
	open    int                   // streams
	full    bool                  // streams have waited in vain, and the limit may still be reached
	failed  bool                  // takes no further stream, to avoid grpc-go's backoff

	timer   *time.Timer   // of the next look; nil unless streams have been waiting
	reached bool          // at the last look, the limit was reached
	blocked time.Duration // time at the limit while streams wait

	idle    *time.Timer // runs while the link is unneeded
	expired bool        // the idle time is over
}

// exhausted reports whether the server allows no further stream now.
func (l *link) exhausted() bool { return int64(l.open) >= int64(l.limit.Load()) }

func (l *link) usable() bool { return !l.failed && (!l.full || !l.exhausted()) }

// streams returns the number of streams if all waiting ones are granted.
func (l *link) streams() int { return len(l.waiting) + l.open }

// busy stops the idle timer.
func (l *link) busy() {
	if l.idle != nil {
		l.idle.Stop()
	}
	l.idle, l.expired = nil, false
}

// stop stops the timers.
func (l *link) stop() {
	l.busy()
	if l.timer != nil {
		l.timer.Stop()
	}
}

// step is the interval of looks at a link while streams wait. It is the precision of the wait.
func (c *conn) step() time.Duration { return min(patience/5, c.timeout) }

// wait adds an attempt to those that wait on a link.
func (c *conn) wait(l *link, a *attempt) {
	l.waiting[a], a.since = struct{}{}, time.Now()
	if l.timer == nil {
		l.timer = time.AfterFunc(c.step(), func() { c.update(func() { c.look(l) }) })
	}
}

// look counts a step of the wait on a link. It counts only time while the connection is ready,
// because grpc-go limits the time of connecting. A step never counts more than its length, so that
// a suspended process does not count as waiting for the server.
func (c *conn) look(l *link) {
	if c.closed || len(l.waiting) == 0 {
		l.timer = nil
		return
	}
	ready := l.client.GetState() == connectivity.Ready
	reached := ready && l.exhausted()
	if reached && l.reached {
		l.blocked += c.step()
	} else {
		l.blocked = 0
	}
	l.reached = reached
	now := time.Now()
	for a := range l.waiting {
		if ready {
			a.left -= min(now.Sub(a.since), c.step())
		}
		a.since = now
	}
	c.judge(l)
	l.timer.Reset(c.step())
}

// judge ends the wait of the attempts whose time is over. It ends the wait of all attempts if the
// link has no room for them and another link may have.
func (c *conn) judge(l *link) {
	others := func(o *link) bool { return o != l && o.usable() }
	full := l.blocked >= patience && (l.open > 0 || slices.ContainsFunc(c.links, others))
	l.full = l.full || full
	for a := range l.waiting {
		switch {
		case a.left <= 0:
			// The next attempt is on a new connection, unless this one is newer than the attempt.
			l.failed = l.failed || l.open == 0 && l.blocked >= c.timeout/10*9
			l.dismiss(a, noStream("the server accepted the connection and granted no stream within %v", c.timeout))
		case full:
			a.share = int(l.limit.Load()) // probably also the server's limit on other connections
			l.dismiss(a, errFull)
		}
	}
}

// dismiss ends the wait of an attempt.
func (l *link) dismiss(a *attempt, verdict error) {
	delete(l.waiting, a)
	a.verdict = verdict
	a.end(verdict)
}

func noStream(format string, args ...any) error {
	return &transport.Error{Kind: KindNoStream, Text: fmt.Sprintf(format, args...)}
}
