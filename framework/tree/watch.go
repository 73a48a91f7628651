package tree

import (
	"context"
	"errors"
	"iter"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// ErrTooLarge says that more resources are referred to than the limit allows.
var ErrTooLarge = errors.New("tree: more resources are referred to than the limit allows")

// An Option changes how references are followed.
type Option func(*options)

type options struct {
	follow func(resource.Update, resource.Ref) bool
	limit  int
}

// defaultLimit is how many resources there may be unless WithLimit says another number.
const defaultLimit = 10_000

// WithFollow follows the references of which f says so; by default, all. f is called
// with the resource that refers, often, and must give the same answer each time.
func WithFollow(f func(from resource.Update, to resource.Ref) bool) Option {
	return func(o *options) { o.follow = f }
}

// WithLimit bounds how many resources a snapshot may have; 10,000 by default. Beyond
// that, there is no snapshot but [ErrTooLarge]. Less than 1 means 1.
func WithLimit(n int) Option { return func(o *options) { o.limit = max(n, 1) } }

// Watch yields a snapshot when all of its parts are there or known not to be, and
// another when any of them changed and all of the new ones are. Without a usable root it
// yields (nil, error). Trouble beside resources that stay valid is not told. A consumer
// that is slow sees the newest snapshot, not each. The sequence ends with ctx, with the
// client's Close, or after the error of a call that could not subscribe to the root.
func Watch(ctx context.Context, c resource.Source, t *resource.Descriptor, name string, opts ...Option) iter.Seq2[*Snapshot, error] {
	o := options{limit: defaultLimit, follow: func(resource.Update, resource.Ref) bool { return true }}
	for _, opt := range opts {
		opt(&o)
	}
	return func(yield func(*Snapshot, error) bool) {
		n, err := c.ParseName(name)
		if err != nil {
			yield(nil, err)
			return
		}
		w := newWalker(c, resource.Ref{Type: t.Name, Name: n}, o)
		ended, err := w.start(ctx, t)
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() {
			w.stop()
			<-ended
		}()
		for {
			select {
			case <-w.changed:
			case <-ended:
				return
			}
			s, err, news := w.walk(ctx)
			if news && !yield(s, err) {
				return
			}
		}
	}
}
