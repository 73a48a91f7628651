package grpctransport

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"

	"github.com/xdsforge/xdsforge/framework/transport"
)

// patience is how long the creation of a stream may block on a connection that is
// ready and has others, before the server's limit on concurrent streams is taken
// to be reached. grpc-go does not tell.
const patience = time.Second

var (
	errClosed = errors.New("grpctransport: the connection is closed")
	errFull   = errors.New("grpctransport: the server allows no further stream on the connection")
	errBetter = errors.New("grpctransport: another connection has room again")
)

// KindNoStream is the kind of the [transport.Error] of a server that accepted connections
// but granted no stream on any of them; see [WithStreamTimeout].
const KindNoStream = "NoStream"

// A conn is one ClientConn for as long as that works and takes new streams, and others
// beside it or in its place otherwise.
type conn struct {
	target  string
	options []grpc.DialOption
	release func()
	timeout time.Duration // see WithStreamTimeout

	arrivals *arrivals // on all links

	mu     sync.Mutex
	links  []*link
	closed bool
}

// A link is one ClientConn. What it counts is guarded by its conn's mutex.
type link struct {
	client        *grpc.ClientConn
	opening, open int  // streams
	full          bool // no further stream until one has ended
	failed        bool // no further stream: it would meet grpc-go's backoff
}

func (l *link) usable() bool { return !l.full && !l.failed }

// dial adds a link.
func (c *conn) dial() error {
	client, err := grpc.NewClient(c.target, c.options...)
	if err != nil {
		return fmt.Errorf("grpctransport: server %s: %w", c.target, err)
	}
	c.links = append(c.links, &link{client: client})
	return nil
}

// update changes what the mutex guards, and closes the links that this makes
// superfluous: those without streams, but the one that the next stream will be on.
func (c *conn) update(change func()) {
	c.mu.Lock()
	change()
	next := slices.IndexFunc(c.links, (*link).usable)
	var kept, superfluous []*link
	for i, l := range c.links {
		if i == next || l.opening+l.open > 0 {
			kept = append(kept, l)
		} else {
			superfluous = append(superfluous, l)
		}
	}
	c.links = kept
	c.mu.Unlock()
	for _, l := range superfluous {
		_ = l.client.Close() // it fails only when closed twice
	}
}

// OpenStream implements [transport.Conn].
func (c *conn) OpenStream(ctx context.Context, method string) (transport.Stream, error) {
	left := c.timeout
	for {
		l, err := c.next()
		if err != nil {
			return nil, err
		}
		s, err := c.openOn(ctx, l, method, &left)
		if !errors.Is(err, errFull) && !errors.Is(err, errBetter) {
			return s, err
		}
	}
}

// next returns the link that a new stream is to be on.
func (c *conn) next() (l *link, err error) {
	c.update(func() {
		if c.closed {
			err = errClosed
			return
		}
		for _, l := range c.links {
			l.failed = l.failed || l.client.GetState() == connectivity.TransientFailure
		}
		if !slices.ContainsFunc(c.links, (*link).usable) {
			err = c.dial()
		}
		if i := slices.IndexFunc(c.links, (*link).usable); i >= 0 {
			l = c.links[i]
			l.opening++
		}
	})
	return l, err
}

// openOn opens a stream. It fails with errFull or errBetter if another link is to be tried.
// The time for which the link was connected and granted no stream is taken from left.
func (c *conn) openOn(ctx context.Context, l *link, method string, left *time.Duration) (transport.Stream, error) {
	ctx, end := context.WithCancelCause(ctx)
	type result struct {
		stream grpc.ClientStream
		err    error
	}
	opened := make(chan result, 1)
	go func() {
		desc := &grpc.StreamDesc{StreamName: method, ServerStreams: true, ClientStreams: true}
		s, err := l.client.NewStream(ctx, desc, method)
		opened <- result{s, err}
	}()
	ticker := time.NewTicker(min(patience, c.timeout))
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case r := <-opened:
			if r.err != nil {
				c.update(func() {
					l.opening--
					l.failed = l.failed || ctx.Err() == nil && l.client.GetState() != connectivity.Ready
				})
				end(r.err)
				return nil, plain(r.err)
			}
			c.update(func() { l.opening, l.open = l.opening-1, l.open+1 })
			context.AfterFunc(ctx, func() {
				c.update(func() { l.open, l.full = l.open-1, false })
			})
			return &stream{ClientStream: r.stream, end: end, arrivals: c.arrivals}, nil
		case now := <-ticker.C:
			err := c.blocked(l, now.Sub(last), left)
			last = now
			if err != nil {
				end(err)
				<-opened
				c.update(func() { l.opening-- })
				return nil, err
			}
		}
	}
}

// blocked decides about a link on which the creation of a stream blocks and has done so
// for some more time. It returns nil if the stream may still come.
func (c *conn) blocked(l *link, d time.Duration, left *time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.client.GetState() != connectivity.Ready {
		return nil // grpc-go bounds the time in which a connection is made
	}
	*left -= d
	switch i := slices.IndexFunc(c.links, (*link).usable); {
	case *left <= 0:
		l.failed = l.failed || l.open == 0 // the next attempt is on a new connection
		return &transport.Error{Kind: KindNoStream, Text: fmt.Sprintf(
			"the server accepted the connection and granted no stream within %v", c.timeout)}
	case l.open > 0:
		l.full = true
		return errFull
	case i >= 0 && c.links[i] != l:
		return errBetter
	}
	return nil
}

// Close implements [transport.Conn].
func (c *conn) Close() error {
	c.mu.Lock()
	closed, links := c.closed, c.links
	c.closed, c.links = true, nil
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
