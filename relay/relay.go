package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/environment"
)

// A Relay is a [source.Source] of the resources that a client receives. [New] makes one. It is safe for
// concurrent use.
type Relay struct {
	client  *environment.Scope
	types   *resource.Set
	lists   map[string]*resource.Descriptor // types by the message of their list collections
	options options
	memory  *source.Memory // the relayed resources
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	upstreams map[source.Interest]*upstream
	active    int                    // upstream subscriptions
	lingering map[*upstream]struct{} // without a user
	parked    map[*upstream]struct{} // not subscribed upstream, because of the limit
	state     source.State
	rejected  uint64

	servers    map[authority]*bootstrap.Server // in use
	entries    map[string]*bootstrap.Server    // the same, by key
	loads      map[context.Context]*streamLoad // by stream
	clients    map[string]*clientLoad          // of loads, by client
	unreported uint64

	lookedSince time.Time // the second of looked
	looked      int       // looks at the state of the client by load reports
}

var _ source.Source = (*Relay)(nil)

// New returns a relay of the resources of a client. The client must stay open. It may be used for
// other things, too. Close the relay after use.
func New(c *xdsforge.Client, opts ...Option) (*Relay, error) {
	o := options{linger: defaultLinger, subscriptions: defaultSubscriptions, logger: slog.New(slog.DiscardHandler)}
	var errs []error
	for _, set := range opts {
		errs = append(errs, set(&o))
	}
	var scope *environment.Scope
	if c != nil {
		scope = environment.ScopeOf(c)
	}
	if scope == nil {
		errs = append(errs, errors.New("the client must be made by xdsforge.New or Env.NewClient"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("relay: %w", err)
	}
	r := &Relay{
		client: scope, types: scope.Types(), lists: make(map[string]*resource.Descriptor), options: o, memory: source.NewMemory(),
		upstreams: make(map[source.Interest]*upstream), lingering: make(map[*upstream]struct{}), parked: make(map[*upstream]struct{}),
		state: source.State{Kind: source.Live}, loads: make(map[context.Context]*streamLoad), clients: make(map[string]*clientLoad),
	}
	for _, t := range r.types.All() {
		if t.Collection != "" {
			r.lists[t.Collection] = t
		}
	}
	r.memory.OnReport(r.report)
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	r.running.Go(func() { r.follow(ctx) })
	return r, nil
}

// Open implements [source.Source]. An interest in [source.Everything] has all resources that other
// interests have brought here.
func (r *Relay) Open(ctx context.Context, sink source.Sink) (source.Session, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, errClosed
	}
	inner, err := r.memory.Open(ctx, sink)
	if err != nil {
		return nil, err
	}
	s := &session{relay: r, inner: inner, wanted: make(map[source.Interest]*upstream)}
	context.AfterFunc(ctx, s.leave)
	return s, nil
}

// OnDemand reports true: a relay has only the resources that somebody wants, so a state directory of a server cannot
// keep them.
func (r *Relay) OnDemand() bool { return true }

var errClosed = errors.New("relay: closed")

// Close ends all upstream subscriptions. Sessions keep their resources and are [source.Down].
func (r *Relay) Close() error {
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		for _, u := range r.upstreams {
			u.end()
		}
		for _, s := range r.loads {
			for _, x := range s.reporters {
				x.Close()
			}
		}
		clear(r.loads)
		clear(r.clients)
		r.setState(source.State{Kind: source.Down, Err: errClosed})
	}
	r.mu.Unlock()
	r.cancel()
	r.running.Wait()
	return nil
}

// A Status describes a relay.
type Status struct {
	State         source.State // Live; Stale while a server in use is unreachable; Down after Close
	Subscriptions int          // upstream
	Lingering     int          // of those, without a downstream subscription
	Waiting       int          // downstream names that wait for the limit of WithMaxSubscriptions
	Rejections    uint64       // NACKs of downstream clients
	// UnreportedLoad counts the clusters in load reports whose authority had no server in use.
	UnreportedLoad uint64
}

// Status returns the state of the relay.
func (r *Relay) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Status{
		State: r.state, Subscriptions: r.active, Lingering: len(r.lingering), Waiting: len(r.parked), Rejections: r.rejected,
		UnreportedLoad: r.unreported,
	}
}

// report counts and passes on the NACK of a downstream client.
func (r *Relay) report(x source.Rejection) {
	r.mu.Lock()
	r.rejected++
	r.mu.Unlock()
	if r.options.rejected != nil {
		r.options.rejected(x)
	}
}

// setState reports a state to all sessions. r.mu is held.
func (r *Relay) setState(s source.State) {
	r.state = s
	r.memory.SetState(s)
}

// lingerUntil schedules the end of a subscription without users. r.mu is held.
func (r *Relay) lingerUntil(u *upstream) {
	if r.options.linger == 0 {
		r.remove(u)
		return
	}
	r.lingering[u] = struct{}{}
	u.timer = time.AfterFunc(r.options.linger, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if _, still := r.lingering[u]; still && !r.closed {
			r.remove(u)
		}
	})
}
