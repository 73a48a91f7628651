package grpctransport

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"

	"github.com/xdsforge/xdsforge/framework/transport"
)

var (
	errClosed = errors.New("grpctransport: the connection is closed")
	errFull   = errors.New("grpctransport: the server allows no further stream on the connection")
)

// KindNoStream is the kind of the [transport.Error] of a server that accepted connections
// but granted no stream on any of them; see [WithStreamTimeout] and [WithMaxConnections].
const KindNoStream = "NoStream"

// A conn is one ClientConn as long as that works and takes new streams. Otherwise it uses further
// ClientConns, beside the first or instead of it.
type conn struct {
	target  string
	options []grpc.DialOption
	bundle  credentials.Bundle
	release func()
	timeout time.Duration // see WithStreamTimeout
	max     int           // see WithMaxConnections

	arrivals *arrivals // on all links

	mu     sync.Mutex
	links  []*link
	closed bool
}

// An attempt opens one stream. It tries one link after another.
type attempt struct {
	left    time.Duration // remaining time for the server
	since   time.Time     // start of the current step of that time
	share   int           // limit of streams on a link that takes the attempt; 0: none
	verdict error         // reason for leaving its link
	end     context.CancelCauseFunc
}

// dial adds a link.
func (c *conn) dial() (*link, error) {
	l := &link{waiting: make(map[*attempt]struct{})}
	creds := grpc.WithCredentialsBundle(observedBundle{c.bundle, c.arrivals, &l.limit})
	client, err := grpc.NewClient(c.target, append(slices.Clip(c.options), creds)...)
	if err != nil {
		return nil, fmt.Errorf("grpctransport: server %s: %w", c.target, err)
	}
	l.client = client
	l.limit.Store(math.MaxUint32)
	c.links = append(c.links, l)
	return l, nil
}

// update changes the state that the mutex guards. It closes links without streams that take no
// further one. Of the other links without streams, it keeps the first, and closes the rest after
// the idle time.
func (c *conn) update(change func()) {
	c.mu.Lock()
	change()
	next := slices.IndexFunc(c.links, (*link).usable)
	kept := c.links[:0]
	var superfluous []*link
	for i, l := range c.links {
		switch {
		case i == next || l.streams() > 0:
			l.busy()
		case !l.usable() || l.expired:
			l.busy()
			superfluous = append(superfluous, l)
			continue
		case l.idle == nil:
			l.idle = time.AfterFunc(idleTime, func() { c.update(func() { l.expired = true }) })
		}
		kept = append(kept, l)
	}
	clear(c.links[len(kept):])
	c.links = kept
	c.mu.Unlock()
	for _, l := range superfluous {
		_ = l.client.Close() // it fails only if already closed
	}
}

// OpenStream implements [transport.Conn].
func (c *conn) OpenStream(ctx context.Context, method string) (transport.Stream, error) {
	a := &attempt{left: c.timeout + c.step()} // the first step may end before the connection is ready
	for {
		s, err := c.try(ctx, method, a)
		if !errors.Is(err, errFull) {
			return s, err
		}
	}
}

// try opens a stream on one link. It fails with errFull if the attempt should try another link.
func (c *conn) try(ctx context.Context, method string, a *attempt) (transport.Stream, error) {
	ctx, end := context.WithCancelCause(ctx)
	a.verdict, a.end = nil, end
	l, err := c.place(a)
	if err != nil {
		end(err)
		return nil, err
	}
	desc := &grpc.StreamDesc{StreamName: method, ServerStreams: true, ClientStreams: true}
	client, err := l.client.NewStream(ctx, desc, method)
	if err = c.finish(ctx, l, a, err); err != nil {
		end(err)
		return nil, err
	}
	context.AfterFunc(ctx, func() {
		c.update(func() {
			l.open--
			l.full = l.full && l.exhausted()
		})
	})
	return &stream{ClientStream: client, end: end, arrivals: c.arrivals}, nil
}

// place chooses the link on which an attempt waits.
func (c *conn) place(a *attempt) (l *link, err error) {
	c.update(func() {
		if c.closed {
			err = errClosed
			return
		}
		for _, l := range c.links {
			l.failed = l.failed || l.client.GetState() == connectivity.TransientFailure
		}
		if l, err = c.choose(a); err == nil {
			c.wait(l, a)
		}
	})
	return l, err
}

// choose returns the first link that has room for the attempt, or else a new one.
func (c *conn) choose(a *attempt) (*link, error) {
	working := 0
	var crowded *link
	for _, l := range c.links {
		if l.failed {
			continue
		}
		working++
		switch {
		case !l.usable():
		case a.share == 0 || l.streams() < a.share:
			return l, nil
		case crowded == nil || l.streams() < crowded.streams():
			crowded = l
		}
	}
	switch {
	case working < c.max:
		return c.dial()
	case crowded != nil:
		return crowded, nil
	}
	return nil, noStream("the server allows no further stream on any of %d connections, the limit of grpctransport.WithMaxConnections", c.max)
}

// finish ends the wait of an attempt on a link with the result of NewStream.
func (c *conn) finish(ctx context.Context, l *link, a *attempt, result error) (err error) {
	c.update(func() {
		delete(l.waiting, a)
		switch {
		case a.verdict != nil:
			err = a.verdict // also if a stream was granted too late
		case result != nil:
			err = plain(result)
			l.failed = l.failed || ctx.Err() == nil && l.client.GetState() != connectivity.Ready
		default:
			l.open++
		}
		if len(l.waiting) == 0 {
			l.blocked, l.reached = 0, false
		}
	})
	return err
}

// Close implements [transport.Conn].
func (c *conn) Close() error {
	c.mu.Lock()
	closed, links := c.closed, c.links
	c.closed, c.links = true, nil
	for _, l := range links {
		l.stop()
	}
	c.mu.Unlock()
	if closed {
		return nil
	}
	var errs []error
	for _, l := range links {
		errs = append(errs, l.client.Close())
	}
	c.release()
	return errors.Join(errs...)
}
