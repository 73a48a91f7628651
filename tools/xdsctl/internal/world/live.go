package world

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/resource"
)

// Live is a control plane, as a client of its own sees it.
type Live struct {
	Client *xdsforge.Client
	// Timeout is the limit of the wait for a resource.
	Timeout time.Duration
	// Follow subscribes to the references of a resource as soon as it arrives, so that a caller that looks
	// one after the other up waits for all of them together. At most maxFollowed are subscribed to.
	Follow bool

	mu     sync.Mutex
	closed bool
	asked  map[string]*firstEvent // by type and name
	stops  []func()               // of the subscriptions
}

// maxFollowed is the limit of resources that Follow subscribes to.
const maxFollowed = 100_000

var errClosed = errors.New("the client is closed")

// A firstEvent is the first event of a resource.
type firstEvent struct {
	once sync.Once
	done chan struct{}
	ev   resource.Event[resource.Update]
}

// Close implements [World].
func (l *Live) Close() error {
	l.mu.Lock()
	l.closed = true
	stops := l.stops
	l.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
	return l.Client.Close()
}

// ask subscribes to a resource until Close, as a program would.
func (l *Live) ask(typ, name string) (*firstEvent, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := typ + "/" + name
	if a := l.asked[key]; a != nil {
		return a, nil
	}
	if l.closed {
		return nil, errClosed
	}
	t, err := resource.Find(l.Client, typ)
	if err != nil {
		return nil, err
	}
	a := &firstEvent{done: make(chan struct{})}
	stop, err := t.Subscribe(l.Client, name, func(ev resource.Event[resource.Update]) { l.answered(a, ev) })
	if err != nil {
		return nil, err
	}
	if l.asked == nil {
		l.asked = make(map[string]*firstEvent)
	}
	l.asked[key], l.stops = a, append(l.stops, stop)
	return a, nil
}

// answered records the first event of a resource.
func (l *Live) answered(a *firstEvent, ev resource.Event[resource.Update]) {
	a.once.Do(func() {
		a.ev = ev
		close(a.done)
		if ev.Update == nil || !l.Follow {
			return
		}
		for r := range ev.Update.Refs() {
			if l.full() {
				return
			}
			_, _ = l.ask(r.Type, r.Name.String()) // the lookup of it reports the error
		}
	})
}

func (l *Live) full() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.asked) >= maxFollowed
}

// first waits for the first event of a resource.
func (l *Live) first(ctx context.Context, typ, name string) (resource.Update, error) {
	a, err := l.ask(typ, name)
	if err != nil {
		return nil, err
	}
	select {
	case <-a.done:
		return a.ev.Update, a.ev.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Lookup implements [World]. It waits for the resource.
func (l *Live) Lookup(ctx context.Context, typ, name string) (*Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	u, err := l.first(ctx, typ, name)
	e := &Entry{Type: typ, Name: name, State: StateOf(err)}
	switch {
	case errors.Is(err, resource.ErrTransport):
		return nil, err
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("%s %q: no answer within %s: %w", typ, name, l.Timeout, err)
	case err != nil:
		e.Error, e.ErrorAt = err.Error(), time.Now()
		return e, nil
	}
	e.fill(u)
	return e, nil
}

// fill sets the content of an update.
func (e *Entry) fill(u resource.Update) {
	e.Version, e.Updated, e.update = u.Version(), time.Now(), u
	e.Content = &anypb.Any{TypeUrl: "type.googleapis.com/" + e.Type, Value: u.Raw()}
	if s := u.Server(); s != nil {
		e.Where = s.URI()
	}
}

// StateOf returns the state of a resource by the error of its watch.
func StateOf(err error) string {
	switch {
	case err == nil:
		return Acked
	case errors.Is(err, resource.ErrInvalid):
		return Nacked
	case errors.Is(err, resource.ErrNotFound):
		return DoesNotExist
	case errors.Is(err, resource.ErrTimeout):
		return Timeout
	case errors.Is(err, resource.ErrDenied), errors.Is(err, resource.ErrUnavailable):
		return ReceivedError
	}
	return Requested
}
