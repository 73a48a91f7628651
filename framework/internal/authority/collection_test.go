package authority

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A gatherer remembers what it was told last of a collection and its members.
type gatherer struct {
	watcher
	members map[string]resource.State
	told    int
}

// NotifyMember implements [CollectionWatcher].
func (g *gatherer) NotifyMember(n xdstp.Name, s resource.State) {
	g.told++
	g.members[n.String()] = s
}

func (r *rig) gather(typ *resource.Descriptor, s string) *gatherer {
	r.t.Helper()
	g := &gatherer{members: make(map[string]resource.State)}
	r.do(evWatch{Type: typ, Name: name(r.t, s), Watcher: g})
	return g
}

func (g *gatherer) wantsMember(t *testing.T, s string, u resource.Update, kind error) {
	t.Helper()
	m, ok := g.members[s]
	if !ok || m.Update != u || kind == nil && m.Err != nil || kind != nil && !errors.Is(m.Err, kind) {
		t.Errorf("member %s = %v, want %v, %v", s, m, u, kind)
	}
}

func (r *rig) size(typ *resource.Descriptor) int { return r.m.Shard(r.m.config.Types.Index(typ)).Len() }

func TestWildcardOfTheStateOfTheWorld(t *testing.T) {
	r := newRig(t)
	g := &gatherer{members: make(map[string]resource.State)}
	r.expect("0+*", evWatch{Type: complete, Name: name(t, "*"), Watcher: g})
	r.do(evAsked{0, complete, []string{"*"}})
	a, b := r.update("a", "1"), r.update("b", "1")
	r.respond(complete, ok(a), r.bad("b", "bad"))
	if _, armed := r.m.NextDeadline(); armed {
		t.Error("the timer of the wildcard still runs")
	}
	g.wantsMember(t, "a", a, nil)
	g.wantsMember(t, "b", nil, resource.ErrInvalid)
	r.respond(complete, ok(a), ok(b))
	g.wantsMember(t, "b", b, nil)
	if g.told != 3 {
		t.Errorf("told %d times, want 3: a did not change", g.told)
	}
	late := r.gather(complete, "*")
	late.wantsMember(t, "a", a, nil)
	late.wantsMember(t, "b", b, nil)
	named := new(watcher)
	r.expect("0+a", evWatch{Type: complete, Name: name(t, "a"), Watcher: named})
	named.wants(t, 1, a, nil)
	r.respond(complete)
	g.wantsMember(t, "a", nil, resource.ErrRemoved)
	g.wantsMember(t, "b", nil, resource.ErrRemoved)
	named.wants(t, 2, a, resource.ErrRemoved) // by its name, it stays in use (gRFC A88)
	if r.size(complete) != 1 {
		t.Errorf("%d cached, want the one that is watched", r.size(complete))
	}
	r.respond(complete, ok(a), ok(b))
	g.wantsMember(t, "a", a, nil)
	g.wantsMember(t, "b", b, nil)
	r.expect("", evCancel{Type: complete, Name: name(t, "*"), Watcher: g})
	r.expect("0-*", evCancel{Type: complete, Name: name(t, "*"), Watcher: late})
	if r.size(complete) != 1 || r.cached(complete, "a") != a {
		t.Error("want the one that is watched by its name")
	}
	r.expect("0-a", evCancel{Type: complete, Name: name(t, "a"), Watcher: named})
	if len(r.m.table(complete).records) != 0 || r.size(complete) != 0 {
		t.Error("something is left")
	}
}

func TestWildcardOfDelta(t *testing.T) {
	r := newRig(t)
	g := r.gather(partial, "*")
	r.do(evAsked{0, partial, []string{"*"}})
	r.delta() // there is nothing: an answer
	if _, armed := r.m.NextDeadline(); armed || r.state(partial, "*") != Acked {
		t.Error("an empty response does not answer the wildcard")
	}
	a := r.update("a", "1")
	r.delta(ok(a))
	r.delta()
	g.wantsMember(t, "a", a, nil)
	x := r.update("xdstp://e/test.Partial/x", "1")
	r.delta(ok(x)) // of another kind of name, that nobody asked for
	if len(g.members) != 1 {
		t.Errorf("members = %v", g.members)
	}
	r.delta(r.removed("a"))
	g.wantsMember(t, "a", nil, resource.ErrRemoved)
	if r.size(partial) != 0 {
		t.Error("a removed member is cached")
	}
}

// A server may send a rejected resource only once. So the collection remembers the
// rejection when nobody watches the resource by its name any longer.
func TestRejectedResourceThatWasWatchedByNameIsAMember(t *testing.T) {
	long := strings.Repeat("x", 10*maxMemberError)
	for _, first := range []bool{false, true} {
		r := newRig(t)
		named := new(watcher)
		watch := evWatch{Type: partial, Name: name(t, "a"), Watcher: named}
		var g *gatherer
		r.do(watch)
		if first {
			r.delta(r.bad("a", long))
			g = r.gather(partial, "*")
		} else {
			g = r.gather(partial, "*")
			r.delta(r.bad("a", long))
		}
		named.wants(t, 1, nil, resource.ErrInvalid)
		g.wantsMember(t, "a", nil, resource.ErrInvalid)
		r.expect("0-a", evCancel{Type: partial, Name: name(t, "a"), Watcher: named})
		if e := r.entry("a"); e.State != Nacked || len(e.Err.Error()) > 2*maxMemberError {
			t.Errorf("the member is %v with an error of %d bytes; want NACKED with a clipped error", e.State, len(e.Err.Error()))
		}
		r.watch(partial, "a").wants(t, 1, nil, resource.ErrInvalid)
		r.delta(r.removed("a"))
		g.wantsMember(t, "a", nil, resource.ErrRemoved)
	}
}

func TestGlobCollection(t *testing.T) {
	const glob, one, two, deep = "xdstp://e/test.Partial/g/*", "xdstp://e/test.Partial/g/1", "xdstp://e/test.Partial/g/2", "xdstp://e/test.Partial/g/h/1"
	r := newRig(t)
	first := r.watch(partial, one)
	u, v := r.update(one, "1"), r.update(two, "1")
	r.delta(ok(u))
	g := r.gather(partial, glob)
	g.wantsMember(t, one, u, nil) // what is known is told at once
	r.do(evAsked{0, partial, []string{glob}})
	r.delta(ok(v), ok(r.update(deep, "1")))
	g.wantsMember(t, two, v, nil)
	if len(g.members) != 2 {
		t.Errorf("members = %v", g.members)
	}
	if _, armed := r.m.NextDeadline(); armed {
		t.Error("the collection's timer still runs")
	}
	r.delta(Result{Name: name(t, two), Error: &ServerError{Code: 14}})
	g.wantsMember(t, two, v, resource.ErrUnavailable)
	r.delta(Result{Name: name(t, glob), Error: &ServerError{Code: 7, Message: "no"}})
	g.wants(t, 2, nil, resource.ErrDenied)
	r.delta(ok(v))
	g.wantsMember(t, two, v, nil)
	g.wants(t, 3, nil, nil)
	r.delta(r.removed(glob)) // it is empty (TP1)
	g.wants(t, 4, nil, resource.ErrNotFound)
	g.wantsMember(t, one, nil, resource.ErrRemoved)
	g.wantsMember(t, two, nil, resource.ErrRemoved)
	first.wants(t, 2, u, resource.ErrRemoved)
	if r.size(partial) != 1 {
		t.Errorf("%d cached, want the one that is watched", r.size(partial))
	}
}

func TestCollectionThatIsNotAnswered(t *testing.T) {
	r := newRig(t)
	g := r.gather(partial, "xdstp://e/test.Partial/*")
	r.do(evAsked{0, partial, []string{"xdstp://e/test.Partial/*"}})
	r.now = r.now.Add(ResourceTimeout)
	r.do(evTick{})
	g.wants(t, 1, nil, resource.ErrNotFound)
	r.do(evLost{Err: errRefused})
	r.gather(partial, "xdstp://e/test.Partial/x/*").wants(t, 1, nil, resource.ErrTransport)
}

// Members that only the fallback had leave when the primary is back.
func TestMembersOfAnotherServer(t *testing.T) {
	for _, typ := range []*resource.Descriptor{complete, partial} {
		r := newFallbackRig(t)
		g := r.gather(typ, "*")
		r.do(evLost{Server: 0, Err: errRefused})
		a, b := r.update("a", "1"), r.update("b", "1")
		r.do(Response{Server: 1, Type: typ, Results: []Result{ok(a), ok(b)}, Partial: !typ.Complete})
		g.wantsMember(t, "b", b, nil)
		r.do(evAsked{0, typ, []string{"*"}})
		c := r.update("a", "2")
		r.do(Response{Server: 0, Type: typ, Results: []Result{ok(c)}, Partial: !typ.Complete})
		r.now = r.now.Add(ResourceTimeout)
		r.do(evTick{})
		g.wantsMember(t, "a", c, nil)
		g.wantsMember(t, "b", nil, resource.ErrRemoved)
		if r.size(typ) != 1 {
			t.Errorf("%d cached, want one", r.size(typ))
		}
	}
}

func TestMembersExpire(t *testing.T) {
	r := newRig(t)
	g := r.gather(partial, "*")
	a := r.update("a", "1")
	res := ok(a)
	res.TTL = time.Minute
	r.delta(res)
	r.now = r.now.Add(time.Minute)
	r.do(evTick{})
	g.wantsMember(t, "a", nil, resource.ErrRemoved)
	if _, armed := r.m.NextDeadline(); armed || len(r.m.table(partial).records) != 1 {
		t.Error("an expired member is still there")
	}
}

// A control plane may call a resource by the name of a collection. It is none.
func TestResourceOfACollectionsName(t *testing.T) {
	r := newRig(t)
	g := r.gather(partial, "*")
	x := ok(r.update("x", "1"))
	x.Aliases = []xdstp.Name{name(t, "*")}
	r.delta(ok(r.update("*", "1")), r.bad("*", "bad"), Result{Name: name(t, "*"), Heartbeat: true}, x)
	g.wants(t, 0, nil, nil)
	g.wantsMember(t, "x", x.Update, nil)
	if len(g.members) != 1 || r.cached(partial, "*") != nil {
		t.Errorf("members = %v, cached %v", g.members, r.cached(partial, "*"))
	}
}

// Members that leave are not held any longer.
func TestEmptiedCollectionIsForgotten(t *testing.T) {
	const glob, one, two = "xdstp://e/test.Partial/g/*", "xdstp://e/test.Partial/g/1", "xdstp://e/test.Partial/g/2"
	r := newRig(t)
	r.gather(partial, glob)
	r.delta(ok(r.update(one, "1")), ok(r.update(two, "1")))
	r.expect("0?"+two, Response{Type: partial, Results: []Result{{Name: name(t, two), Error: &ServerError{Code: 5}}}, Partial: true})
	r.expect("0?"+one, Response{Type: partial, Results: []Result{r.removed(glob)}, Partial: true})
}

// A response answers for a glob also where its members are what they were.
func TestUnchangedMembersAnswerForTheirGlob(t *testing.T) {
	const dir = "xdstp://a.example/test.Partial/dir/"
	r := newRig(t)
	r.watch(partial, dir+"x")
	x := []Result{ok(r.update(dir+"x", "1"))}
	r.do(Response{Server: 0, Type: partial, Results: x})
	g := r.gather(partial, dir+"*")
	r.do(evAsked{0, partial, []string{dir + "*"}})
	r.do(Response{Server: 0, Type: partial, Unchanged: []Unchanged{{Update: x[0].Update, Record: x[0].Record}}})
	if _, armed := r.m.NextDeadline(); armed {
		t.Error("the timer of the glob still runs")
	}
	g.wantsMember(t, dir+"x", x[0].Update, nil)
}
