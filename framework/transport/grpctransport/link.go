package grpctransport

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"

	"github.com/xdsforge/xdsforge/framework/transport"
)

const (
	// patience is how long streams wait on a connection that is ready, before the server's
	// limit on concurrent streams is taken to be reached. grpc-go does not report it.
	patience = 100 * time.Millisecond
	// idleTime is how long a further connection without streams is kept, as long as a pool
	// of package client keeps a connection without users.
	idleTime = 10 * time.Minute
)

// A link is one ClientConn. Its conn's mutex guards the fields.
type link struct {
	client  *grpc.ClientConn
	waiting map[*attempt]struct{} // for a stream
	open    int                   // streams
	full    bool                  // no further stream until one has ended
	failed  bool                  // no further stream: it would meet grpc-go's backoff

	timer   *time.Timer   // of the next step, nil unless streams have been waiting
	ready   bool          // at the last step, and nothing was granted since
	blocked time.Duration // how long the connection was ready without further streams
	most    int           // of open since streams have been waiting

	idle    *time.Timer // runs while the link is superfluous
	expired bool        // the idle time is over
}

func (l *link) usable() bool { return !l.full && !l.failed }

// streams returns how many streams there are if all that wait are granted.
func (l *link) streams() int { return len(l.waiting) + l.open }

// busy ends the idle time.
func (l *link) busy() {
	if l.idle != nil {
		l.idle.Stop()
	}
	l.idle, l.expired = nil, false
}

// granted counts a stream. Only a stream beyond those that there have been shows that
// the limit is not reached; others take the place of streams that ended.
func (l *link) granted() {
	l.open++
	if l.open > l.most {
		l.most, l.blocked, l.ready = l.open, 0, false
	}
}

// calm forgets the wait that is over.
func (l *link) calm() { l.most, l.blocked, l.ready = 0, 0, false }

// stop ends the timers.
func (l *link) stop() {
	l.busy()
	if l.timer != nil {
		l.timer.Stop()
	}
}

// step is how often a link is looked at while streams wait. A step counts once, however
// long it took: a process that stood still has not waited for the server.
func (c *conn) step() time.Duration { return min(patience/5, c.timeout) }

// wait adds an attempt to those that wait on a link.
func (c *conn) wait(l *link, a *attempt) {
	l.waiting[a] = struct{}{}
	if l.timer == nil {
		l.timer = time.AfterFunc(c.step(), func() { c.update(func() { c.look(l) }) })
	}
}

// look counts a step of the wait on a link. Only the time counts for which the connection
// is ready: grpc-go bounds the time in which it is made.
func (c *conn) look(l *link) {
	if c.closed || len(l.waiting) == 0 {
		l.timer = nil
		return
	}
	ready := l.client.GetState() == connectivity.Ready
	switch {
	case !ready:
		l.blocked = 0
	case l.ready:
		c.judge(l, c.step())
	}
	l.ready = ready
	l.timer.Reset(c.step())
}

// judge ends the wait of the attempts whose time is over, and that of all attempts if the
// link has no room for them and another link may have.
func (c *conn) judge(l *link, d time.Duration) {
	l.blocked += d
	others := func(o *link) bool { return o != l && o.usable() }
	full := l.blocked >= patience && (l.open > 0 || slices.ContainsFunc(c.links, others))
	l.full = l.full || full
	for a := range l.waiting {
		a.left -= d
		switch {
		case a.left <= 0:
			// The next attempt is on a new connection, unless this one is newer than the attempt.
			l.failed = l.failed || l.open == 0 && l.blocked >= c.timeout/10*9
			l.dismiss(a, noStream("the server accepted the connection and granted no stream within %v", c.timeout))
		case full && a.last:
			l.dismiss(a, noStream("the server grants no further stream on any of %d connections, the limit of grpctransport.WithMaxConnections", c.max))
		case full:
			a.share = l.open // the server may well grant as many on other connections
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
