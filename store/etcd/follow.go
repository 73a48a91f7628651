package etcd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/xdsforge/xdsforge/framework/source"
)

// A follower fills a Memory with the resources of the tenant. It uses one endpoint at a time.
type follower struct {
	store  *Store
	memory *source.Memory

	// The goroutine of run owns these.
	known  head // of what was read: its epoch and cluster, and the revision that was reached
	listed bool
	relist bool // the watch cannot continue after known.revision
	forked bool // the store has another history than known

	mu       sync.Mutex
	anchor   head               // of what the memory has; its revision moves on with each check
	failures int                // of endpoints, since the last successful check
	has      map[source.Key]has // the goroutine of run may read it without the mutex
	status   Status
	sums     map[string]uint64
	recent   []Digest // of the last revisions

	unconfirmed map[*session]struct{} // have names that wait for a check
	kick        chan struct{}         // has a token if a session waits for a check
	applied     chan struct{}         // closed when more is applied
}

// has is what the memory has of a resource.
type has struct {
	revision int64
	digest   uint64
}

// A Status is the state of a store as a source.
type Status struct {
	Endpoint  string    // in use
	Epoch     string    // "" before the first commit
	Revision  int64     // of the last commit that the store has read
	Resources int       // that the store has
	Invalid   int       // values so far that are not resources
	Lists     int       // times that the store read all resources
	Switches  int       // times that the store went on to another endpoint
	Fresh     time.Time // when the resources were last known to be current
	Err       error     // why they are not now; nil if they are
}

func newFollower(s *Store) *follower {
	f := &follower{
		store: s, memory: source.NewMemory(), has: make(map[source.Key]has), sums: make(map[string]uint64), applied: make(chan struct{}),
		unconfirmed: make(map[*session]struct{}), kick: make(chan struct{}, 1),
	}
	f.memory.SetState(source.State{})
	return f
}

// Status returns the state of the store as a source.
func (s *Store) Status() Status {
	f := s.follow
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}

// Digest returns the digest of the resources that the store has read.
func (s *Store) Digest() Digest {
	f := s.follow
	f.mu.Lock()
	defer f.mu.Unlock()
	d := Digest{Epoch: f.status.Epoch, Revision: f.status.Revision, Sums: make(map[string]uint64, len(f.sums))}
	maps.Copy(d.Sums, f.sums)
	return d
}

// recentDigests is the limit of the result of [Store.Digests].
const recentDigests = 64

// Digests returns the digests of the last 64 revisions that the store has read, the oldest first. Processes read
// revisions at different times, so that they compare those that both have.
func (s *Store) Digests() []Digest {
	f := s.follow
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.recent)
}

// remember keeps the digest of the revision that was read. f.mu is held.
func (f *follower) remember() {
	d := Digest{Epoch: f.status.Epoch, Revision: f.status.Revision, Sums: maps.Clone(f.sums)}
	if n := len(f.recent); n > 0 && f.recent[n-1].Epoch == d.Epoch && f.recent[n-1].Revision == d.Revision {
		f.recent[n-1] = d
		return
	}
	if len(f.recent) == recentDigests {
		f.recent = slices.Delete(f.recent, 0, 1)
	}
	f.recent = append(f.recent, d)
}

// OnReport sets a function that is called with each rejection of a client. It must return at once.
func (s *Store) OnReport(f func(source.Rejection)) { s.follow.memory.OnReport(f) }

var (
	errWatchEnded = errors.New("the watch has ended")
	errBehind     = errors.New("the watch is behind the last commit")
	errHistory    = errors.New("the store has another history")
	errHeld       = errors.New("the store is empty and has no history; the resources are kept until somebody commits")
)

// The pause before the next endpoint if all endpoints have failed.
const (
	minBackoff = 500 * time.Millisecond
	maxBackoff = 2 * time.Second
)

// run follows the tenant until the store is closed.
func (f *follower) run() {
	ctx, endpoints := f.store.ctx, f.store.options.Endpoints
	next := rand.IntN(len(endpoints))
	for ctx.Err() == nil {
		endpoint := endpoints[next%len(endpoints)]
		err := f.use(ctx, endpoint)
		if ctx.Err() != nil {
			return
		}
		failures := f.failed(ctx, endpoint, err)
		if f.lost(err) && failures == 1 {
			continue // at the same endpoint, but not for ever
		}
		next++
		f.mu.Lock()
		f.status.Switches++
		f.mu.Unlock()
		if failures >= len(endpoints) {
			_ = f.store.wait(ctx, minBackoff+rand.N(maxBackoff-minBackoff)) // an end is seen above
		}
	}
}

// failed notes that an endpoint cannot be used. It returns the number of failures since the last check that
// succeeded.
func (f *follower) failed(ctx context.Context, endpoint string, err error) int {
	defer releaseAll(f.takeUnconfirmed())
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failures++
	f.status.Err = fmt.Errorf("%s: %w", endpoint, err)
	if !f.listed && f.failures >= len(f.store.options.Endpoints) {
		f.memory.SetState(source.State{Kind: source.Down, Err: f.status.Err})
	}
	if f.failures <= len(f.store.options.Endpoints) {
		f.store.options.Logger.WarnContext(ctx, "endpoint of the store cannot be used", "endpoint", endpoint, "error", err.Error())
	}
	return f.failures
}

// use follows the tenant at one endpoint until that fails.
func (f *follower) use(ctx context.Context, endpoint string) error {
	c, err := f.store.dial(endpoint)
	if err != nil {
		return explain(err)
	}
	defer func() { _ = c.Close() }() // nothing is left to be sent
	f.mu.Lock()
	f.status.Endpoint = endpoint
	f.mu.Unlock()

	start := time.Now()
	h, err := f.head(ctx, c)
	if err != nil {
		if !f.listed {
			f.readAny(ctx, c, err)
		}
		return err
	}
	if f.listed && !f.relist {
		if err := f.verify(ctx, c, h, f.position()); err != nil && !f.lost(err) {
			return err
		}
	}
	if !f.listed || f.relist {
		if err := f.list(ctx, c); err != nil {
			return err
		}
		f.fresh(start)
	}
	return f.watch(ctx, c)
}

func (f *follower) head(ctx context.Context, c *clientv3.Client) (head, error) {
	ctx, cancel := context.WithTimeout(ctx, f.store.options.Timeout)
	defer cancel()
	h, err := f.store.readHead(ctx, c)
	if err != nil {
		return h, explain(f.store.because(err))
	}
	return h, nil
}

// readAny reads the resources from a node that has no majority, or does not know of one.
func (f *follower) readAny(ctx context.Context, c *clientv3.Client, reason error) {
	snap, err := f.store.read(ctx, c, 0, clientv3.WithSerializable())
	if err != nil || snap.generation == 0 {
		return
	}
	if f.apply(ctx, snap) != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status.Fresh = time.Now()
	f.memory.SetState(source.State{Kind: source.Stale, Since: f.status.Fresh, Err: reason})
}

// watch applies events until the watch or the check of it fails.
func (f *follower) watch(ctx context.Context, c *clientv3.Client) error {
	k := &f.store.keys
	ctx, cancel := context.WithCancelCause(ctx)
	in := newInbox(f.known.revision)
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel(nil)
	next := f.known.revision + 1
	group.Go(func() { // Watch waits for the node, too
		in.drain(c.Watch(clientv3.WithRequireLeader(ctx), k.watched, clientv3.WithRange(k.end), clientv3.WithRev(next)))
	})
	group.Go(func() { cancel(f.check(ctx, c, in)) })
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-in.ready:
		}
		events, revision, err := in.take()
		if applyErr := f.applyEvents(ctx, c, events, revision); applyErr != nil {
			f.relist = true // the events are lost
			return applyErr
		}
		if err != nil {
			return explain(err)
		}
	}
}
