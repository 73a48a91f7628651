package world

import (
	"context"
	"errors"
	"fmt"
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

	stops []func() // of the subscriptions
}

// Close implements [World].
func (l *Live) Close() error {
	for _, stop := range l.stops {
		stop()
	}
	return l.Client.Close()
}

// first subscribes to a resource until Close, as a program would, and waits for its first event.
func (l *Live) first(ctx context.Context, t resource.TypeOf[resource.Update], name string) (resource.Update, error) {
	events := make(chan resource.Event[resource.Update], 1)
	stop, err := t.Subscribe(l.Client, name, func(ev resource.Event[resource.Update]) {
		select {
		case events <- ev:
		default: // only the first one matters
		}
	})
	if err != nil {
		return nil, err
	}
	l.stops = append(l.stops, stop)
	select {
	case ev := <-events:
		return ev.Update, ev.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Lookup implements [World]. It waits for the resource.
func (l *Live) Lookup(ctx context.Context, typ, name string) (*Entry, error) {
	t, err := resource.Find(l.Client, typ)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	u, err := l.first(ctx, t, name)
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
