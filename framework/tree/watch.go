package tree

import (
	"context"
	"errors"
	"iter"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// ErrTooLarge means that the number of resources exceeds the limit.
var ErrTooLarge = errors.New("tree: more resources are referred to than the limit allows")

// An Option configures how Watch follows references.
type Option func(*options)

type options struct {
	follow func(resource.Update, resource.Ref) bool
	limit  int
}

// defaultLimit is the limit of resources without WithLimit.
const defaultLimit = 10_000

// WithFollow follows only the references for which f returns true. By default, Watch follows all.
// The argument from is the resource that contains the reference. Watch calls f often, and f must
// return the same result each time.
func WithFollow(f func(from resource.Update, to resource.Ref) bool) Option {
	return func(o *options) { o.follow = f }
}

// WithLimit sets the limit of resources in a snapshot. Default 10,000. Above the limit, there is no
// snapshot but [ErrTooLarge]. Less than 1 means 1.
func WithLimit(n int) Option { return func(o *options) { o.limit = max(n, 1) } }

// Watch yields an event with a snapshot when each of its entries has arrived or is known not to
// exist. It yields another one when an entry has changed and the new entries are complete. Err is set
// if the root is not usable. Ambient is not set: ambient errors of the entries are not reported.
// Origin is that of the root. A slow reader misses snapshots in between, never the newest. The
// sequence ends when ctx ends. It also ends after an event with an error of misuse and after one
// with [resource.ErrClosed].
func Watch(ctx context.Context, c resource.Client, t resource.Type, name string, opts ...Option) iter.Seq[resource.Event[*Snapshot]] {
	o := options{limit: defaultLimit, follow: func(resource.Update, resource.Ref) bool { return true }}
	for _, opt := range opts {
		opt(&o)
	}
	return func(yield func(resource.Event[*Snapshot]) bool) {
		w, err := newWalker(c, t, name, o)
		if err != nil {
			yield(resource.Event[*Snapshot]{Err: err})
			return
		}
		ended := w.start(ctx, resource.Describe(t).Handle())
		defer func() {
			w.stop()
			<-ended //nolint:errcheck // the caller is gone
		}()
		for {
			select {
			case <-w.changed:
				if ev, changed := w.walk(ctx); changed && !yield(ev) {
					return
				}
			case err := <-ended:
				if err == nil {
					return
				}
				if ev, changed := w.failed(err); changed {
					yield(ev)
				}
				return
			}
		}
	}
}
