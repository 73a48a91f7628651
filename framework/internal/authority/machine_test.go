package authority

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime"
	"github.com/xdsforge/xdsforge/framework/xdstp"

	"github.com/xdsforge/xdsforge/internal/feature"
)

var (
	complete = &resource.Descriptor{Name: "test.Complete", Complete: true, Decode: decode, NewShard: newShard}
	partial  = &resource.Descriptor{Name: "test.Partial", Decode: decode, NewShard: newShard}
)

type update struct{ resource.Meta }

// Equal compares as a generated update does. A body "self" stands for one that says
// where it came from.
func (u *update) Equal(o *update) bool {
	same := bytes.Equal(u.Raw(), o.Raw())
	return same && (string(u.Raw()) != "self" || u.Server().Equal(o.Server()))
}

func decode(dc *resource.DecodeContext, body []byte) (resource.Update, error) {
	return &update{dc.Meta(body)}, nil
}

func newShard() resource.Shard { return runtime.NewShard[*update]() }

// A watcher remembers what it was told last.
type watcher struct {
	state resource.State
	calls int
}

func (w *watcher) Notify(s resource.State) {
	w.state = s
	w.calls++
}

// A rig drives a machine by hand, with a clock of its own.
type rig struct {
	t   *testing.T
	m   *Machine
	now time.Time
}

func newRig(t *testing.T, features ...string) *rig {
	t.Helper()
	return newRigOf(t, newServer(t, "xds.test:1", features...))
}

func newServer(t testing.TB, uri string, features ...string) *bootstrap.Server {
	t.Helper()
	quoted := make([]string, len(features))
	for i, f := range features {
		quoted[i] = `"` + f + `"`
	}
	server, err := bootstrap.ParseServer([]byte(`{"server_uri": "` + uri + `", "channel_creds": [{"type": "insecure"}],
		"server_features": [` + strings.Join(quoted, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	return server
}

func newRigOf(t *testing.T, servers ...*bootstrap.Server) *rig {
	t.Helper()
	types, err := resource.NewSet(complete, partial)
	if err != nil {
		t.Fatal(err)
	}
	return &rig{t: t, m: New(Config{Types: types, Servers: servers, NodeID: "node-1"}), now: time.Unix(0, 0)}
}

func name(t testing.TB, s string) xdstp.Name {
	t.Helper()
	n, err := xdstp.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// timeout is when the next does-not-exist timer ends.
func (r *rig) timeout() (time.Time, bool) {
	t, ok := r.m.timers.next()
	return r.m.clock.when(t.at), ok && !r.m.clock.standing()
}

func (r *rig) watch(typ *resource.Descriptor, s string) *watcher {
	r.t.Helper()
	w := new(watcher)
	r.do(evWatch{Type: typ, Name: name(r.t, s), Watcher: w})
	return w
}

func (r *rig) update(s, body string) resource.Update {
	r.t.Helper()
	u, _ := decode(&resource.DecodeContext{Name: name(r.t, s)}, []byte(body))
	return u
}

// respond brings a response with the given results.
func (r *rig) respond(typ *resource.Descriptor, results ...Result) {
	r.do(Response{Type: typ, Results: results})
}

func ok(u resource.Update) Result { return Result{Name: u.Name(), Update: u} }

func (r *rig) bad(s, why string) Result {
	r.t.Helper()
	return Result{Name: name(r.t, s), Err: errors.New(why)}
}

func (r *rig) state(typ *resource.Descriptor, s string) State {
	r.t.Helper()
	rec, ok := r.m.table(typ).records[s]
	if !ok {
		r.t.Fatalf("no record of %s", s)
	}
	return rec.state
}

func (r *rig) cached(typ *resource.Descriptor, s string) resource.Update {
	u, _ := r.m.Shard(r.m.config.Types.Index(typ)).Load(name(r.t, s))
	return u
}

// wants checks what a watcher was told last, and how often it was told.
func (w *watcher) wants(t *testing.T, calls int, u resource.Update, kind error) {
	t.Helper()
	if w.calls != calls {
		t.Errorf("told %d times, want %d", w.calls, calls)
	}
	if w.state.Update != u {
		t.Errorf("update = %v, want %v", w.state.Update, u)
	}
	if kind == nil && w.state.Err != nil || kind != nil && !errors.Is(w.state.Err, kind) {
		t.Errorf("error = %v, want %v", w.state.Err, kind)
	}
}

func TestWatchersShareASubscription(t *testing.T) {
	r := newRig(t)
	first, second := new(watcher), new(watcher)
	n := name(t, "a")
	if e := r.do(evWatch{Type: complete, Name: n, Watcher: first}); len(e) != 1 || e[0] != (efSubscribe{0, complete, "a"}) {
		t.Fatalf("effects = %v, want Subscribe", e)
	}
	if e := r.do(evWatch{Type: complete, Name: n, Watcher: second}); len(e) != 0 {
		t.Fatalf("effects of the second watch = %v, want none", e)
	}
	u := r.update("a", "1")
	r.respond(complete, ok(u))
	first.wants(t, 1, u, nil)
	second.wants(t, 1, u, nil)
	if e := r.do(evCancel{Type: complete, Name: n, Watcher: first}); len(e) != 0 {
		t.Fatalf("effects of the first cancel = %v, want none", e)
	}
	if r.cached(complete, "a") != u {
		t.Error("not cached while it is watched")
	}
	if e := r.do(evCancel{Type: complete, Name: n, Watcher: second}); len(e) != 2 || e[0] != (efUnsubscribe{0, complete, "a"}) || e[1] != (efUnused{0, complete, n}) {
		t.Fatalf("effects of the last cancel = %v, want Unsubscribe and Unused", e)
	}
	if r.cached(complete, "a") != nil {
		t.Error("still cached when nobody watches")
	}
	if e := r.do(evCancel{Type: complete, Name: n, Watcher: second}); len(e) != 0 {
		t.Errorf("effects of a cancel too many = %v", e)
	}
}

func TestUnrequestedResourcesArePassedOver(t *testing.T) {
	r := newRig(t)
	w := r.watch(complete, "mine")
	u := r.update("mine", "1")
	r.respond(complete, ok(u), ok(r.update("stranger", "1")), r.bad("other", "bad"))
	if r.cached(complete, "stranger") != nil {
		t.Error("a resource that nobody watches is cached")
	}
	w.wants(t, 1, u, nil)
}

func TestUnchangedIsNotTold(t *testing.T) {
	r := newRig(t)
	w := r.watch(partial, "a")
	u := r.update("a", "1")
	r.respond(partial, ok(u))
	r.respond(partial, ok(u))
	w.wants(t, 1, u, nil)
	v := r.update("a", "2")
	r.respond(partial, ok(v))
	w.wants(t, 2, v, nil)
}

func TestLateWatcherGetsWhatIsKnown(t *testing.T) {
	r := newRig(t)
	r.watch(partial, "a")
	u := r.update("a", "1")
	r.respond(partial, ok(u))
	r.respond(partial, r.bad("a", "bad"))
	r.watch(partial, "a").wants(t, 1, u, resource.ErrInvalid)

	r.watch(partial, "gone")
	r.do(evAsked{0, partial, []string{"gone"}})
	r.now = r.now.Add(ResourceTimeout)
	r.do(evTick{})
	r.watch(partial, "gone").wants(t, 1, nil, resource.ErrNotFound)

	if w := r.watch(partial, "new"); w.calls != 0 {
		t.Errorf("a watcher of an unknown resource was told %v", w.state)
	}
}

func TestRejectionIsAmbientWhileCached(t *testing.T) {
	r := newRig(t)
	w := r.watch(partial, "a")
	r.respond(partial, r.bad("a", "field: bad"))
	w.wants(t, 1, nil, resource.ErrInvalid)
	if !strings.Contains(w.state.Err.Error(), "field: bad") || !strings.Contains(w.state.Err.Error(), "xds.test:1") ||
		!strings.Contains(w.state.Err.Error(), "node-1") {
		t.Errorf("error = %v, want the cause, the server and the node", w.state.Err)
	}
	u := r.update("a", "1")
	r.respond(partial, ok(u))
	w.wants(t, 2, u, nil)
	r.respond(partial, r.bad("a", "bad"))
	w.wants(t, 3, u, resource.ErrInvalid)
	if r.state(partial, "a") != Nacked || r.cached(partial, "a") != u {
		t.Error("want NACKED with the old version cached")
	}
	r.respond(partial, r.bad("a", "bad"))
	w.wants(t, 3, u, resource.ErrInvalid) // the same again is not told
	r.respond(partial, r.bad("a", "worse"))
	w.wants(t, 4, u, resource.ErrInvalid)
	r.respond(partial, ok(u)) // the same bytes clear the error
	w.wants(t, 5, u, nil)
	if r.state(partial, "a") != Acked {
		t.Error("want ACKED")
	}
}

func TestFailOnDataErrorsDropsWhatIsCached(t *testing.T) {
	r := newRig(t, feature.FailOnDataErrors)
	w := r.watch(complete, "a")
	u := r.update("a", "1")
	r.respond(complete, ok(u))
	r.respond(complete, r.bad("a", "bad"))
	w.wants(t, 2, nil, resource.ErrInvalid)
	if r.cached(complete, "a") != nil {
		t.Error("a rejected resource's old version is still cached")
	}
	r.respond(complete, ok(u))
	w.wants(t, 3, u, nil)
	r.respond(complete)
	w.wants(t, 4, nil, resource.ErrRemoved)
	if r.cached(complete, "a") != nil {
		t.Error("a removed resource is still cached")
	}
}

// TestIgnoreResourceDeletionHasNoEffect expects the feature of gRFC A53 to change nothing:
// gRFC A88 decides the meaning of a removal.
func TestIgnoreResourceDeletionHasNoEffect(t *testing.T) {
	r := newRig(t, feature.IgnoreResourceDeletion)
	w := r.watch(complete, "a")
	u := r.update("a", "1")
	r.respond(complete, ok(u))
	r.respond(complete)
	w.wants(t, 2, u, resource.ErrRemoved)

	r = newRig(t, feature.IgnoreResourceDeletion, feature.FailOnDataErrors)
	w = r.watch(complete, "a")
	u = r.update("a", "1")
	r.respond(complete, ok(u))
	r.respond(complete)
	w.wants(t, 2, nil, resource.ErrRemoved)
}

func TestAbsenceRemovesWhatWasReceivedOfCompleteTypes(t *testing.T) {
	r := newRig(t)
	a, b, p := r.watch(complete, "a"), r.watch(complete, "b"), r.watch(partial, "p")
	u, v := r.update("a", "1"), r.update("p", "1")
	r.respond(complete, ok(u))
	r.respond(partial, ok(v))
	r.respond(complete)
	r.respond(partial)
	a.wants(t, 2, u, resource.ErrRemoved)
	if !errors.Is(a.state.Err, resource.ErrNotFound) {
		t.Error("a removed resource does not count as not found")
	}
	if r.state(complete, "a") != DoesNotExist {
		t.Error("want DOES_NOT_EXIST")
	}
	b.wants(t, 0, nil, nil) // never received: the timer decides
	p.wants(t, 1, v, nil)   // absence says nothing
	r.respond(complete)
	a.wants(t, 2, u, resource.ErrRemoved)
	r.respond(complete, ok(u))
	a.wants(t, 3, u, nil)
}

func TestAbsenceSaysNothingBesideUnreadableNames(t *testing.T) {
	r := newRig(t, feature.FailOnDataErrors)
	a := r.watch(complete, "a")
	u := r.update("a", "1")
	r.respond(complete, ok(u))
	r.do(Response{Type: complete, Partial: true})
	a.wants(t, 1, u, nil)
	r.respond(complete)
	a.wants(t, 2, nil, resource.ErrRemoved)
}

func TestTimerRunsFromTheRequestOn(t *testing.T) {
	r := newRig(t)
	w := r.watch(partial, "a")
	if at, ok := r.m.NextDeadline(); ok {
		t.Fatalf("a timer runs before anything was asked: %v", at)
	}
	r.do(evAsked{0, partial, []string{"a"}})
	at, ok := r.timeout()
	if !ok || at.Sub(r.now) != ResourceTimeout {
		t.Fatalf("NextDeadline = %v %v, want in 15 s", at, ok)
	}
	r.now = at.Add(-1)
	r.do(evTick{})
	w.wants(t, 0, nil, nil)
	r.now = at
	r.do(evTick{})
	w.wants(t, 1, nil, resource.ErrNotFound)
	if errors.Is(w.state.Err, resource.ErrRemoved) {
		t.Error("a resource that never was counts as removed")
	}
	if r.state(partial, "a") != DoesNotExist {
		t.Error("want DOES_NOT_EXIST")
	}
}

func TestTimerStopsWithTheStreamAndStartsAgain(t *testing.T) {
	r := newRig(t)
	w := r.watch(partial, "a")
	r.watch(partial, "cached")
	if _, ok := r.m.NextDeadline(); ok {
		t.Error("a timer runs before a request has left")
	}
	r.do(evAsked{0, partial, []string{"a", "cached"}})
	r.respond(partial, ok(r.update("cached", "1")))
	r.do(evLost{})
	if _, ok := r.m.NextDeadline(); ok {
		t.Fatal("a timer runs without a stream")
	}
	r.now = r.now.Add(time.Hour)
	r.do(evTick{})
	w.wants(t, 0, nil, nil)
	r.do(evAsked{0, partial, []string{"a", "cached"}})
	at, _ := r.timeout()
	if at.Sub(r.now) != 15*time.Second {
		t.Fatalf("NextDeadline = %v, want in 15 s", at)
	}
	r.respond(partial, ok(r.update("a", "1")))
	if _, ok := r.m.NextDeadline(); ok {
		t.Error("a timer runs although everything is cached")
	}
}

func TestTimerMeansASlowServerUnderTheFeature(t *testing.T) {
	for _, feature := range []string{feature.ResourceTimerIsTransientError, feature.ResourceTimerIsTransientFailure} {
		r := newRig(t, feature)
		w := r.watch(partial, "a")
		r.do(evAsked{0, partial, []string{"a"}})
		at, _ := r.timeout()
		if at.Sub(r.now) != 30*time.Second {
			t.Fatalf("%s: NextDeadline = %v, want in 30 s", feature, at)
		}
		r.now = at
		r.do(evTick{})
		w.wants(t, 1, nil, resource.ErrTimeout)
		if r.state(partial, "a") != Timeout {
			t.Errorf("%s: state = %v, want TIMEOUT", feature, r.state(partial, "a"))
		}
	}
}

func TestLosingTheControlPlane(t *testing.T) {
	r := newRig(t)
	cached, waiting, gone := r.watch(partial, "cached"), r.watch(partial, "waiting"), r.watch(partial, "gone")
	u := r.update("cached", "1")
	r.respond(partial, ok(u), r.bad("gone", "bad"))
	r.do(evLost{}) // after a response: no error
	cached.wants(t, 1, u, nil)
	r.do(evLost{Err: errors.New("refused")})
	cached.wants(t, 2, u, resource.ErrTransport)
	waiting.wants(t, 1, nil, resource.ErrTransport)
	gone.wants(t, 1, nil, resource.ErrInvalid) // its own error says more
	r.do(evLost{Err: errors.New("refused")})
	cached.wants(t, 2, u, resource.ErrTransport)
	r.watch(partial, "late").wants(t, 1, nil, resource.ErrTransport)
	r.do(evHealthy{})
	cached.wants(t, 3, u, nil)
	waiting.wants(t, 1, nil, resource.ErrTransport) // still nothing to use
	if w := r.watch(partial, "later"); w.calls != 0 {
		t.Errorf("a watcher was told %v after the control plane came back", w.state)
	}
	r.do(evHealthy{})
	cached.wants(t, 3, u, nil)
}

func TestOldTroubleIsForgotten(t *testing.T) {
	r := newRig(t)
	r.do(evLost{Err: errors.New("refused")})
	r.watch(partial, "a").wants(t, 1, nil, resource.ErrTransport)
	r.do(evIdle{})
	r.watch(partial, "b").wants(t, 0, nil, nil)
}

func TestStoppedTimersLeaveTheQueue(t *testing.T) {
	r := newRig(t)
	for _, s := range []string{"a", "b"} {
		r.watch(partial, s)
	}
	r.do(evAsked{0, partial, []string{"a", "b"}})
	r.respond(partial, ok(r.update("a", "1")), ok(r.update("b", "1")))
	if _, ok := r.m.NextDeadline(); ok || len(r.m.timers.queue) != 0 {
		t.Errorf("queue = %v, want none", r.m.timers.queue)
	}
}
