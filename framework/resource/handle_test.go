package resource

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A script is a client that yields the given states and then io.EOF. It counts the open
// subscriptions.
type script struct {
	states      []State
	collections []CollectionState
	refuse      error
	types       *Set
	shards      map[string]Shard // by authority
	open        int
	asked       int // calls of Shard

	f     func(next, last State)
	async func(next, last State, done func())
	Base
}

type observation struct{ *script }

func (o observation) Next(context.Context) (State, error) {
	if len(o.states) == 0 {
		return State{}, io.EOF
	}
	s := o.states[0]
	o.states = o.states[1:]
	return s, nil
}

func (o observation) Stop() { o.open-- }

type collectionObservation struct{ *script }

func (o collectionObservation) Next(context.Context) (CollectionState, error) {
	if len(o.collections) == 0 {
		return CollectionState{}, io.EOF
	}
	s := o.collections[0]
	o.collections = o.collections[1:]
	return s, nil
}

func (o collectionObservation) Stop() { o.open-- }

func (*script) ParseName(s string) (xdstp.Name, error) { return xdstp.Parse(s) }

func (c *script) Subscribe(_ *Descriptor, _ string, f func(next, last State)) (func(), error) {
	c.f = f
	return func() {}, c.refuse
}

func (c *script) SubscribeAsync(_ *Descriptor, _ string, f func(next, last State, done func())) (func(), error) {
	c.async = f
	return func() {}, c.refuse
}

func (c *script) Observe(*Descriptor, string) (Observation, error) {
	if c.refuse != nil {
		return nil, c.refuse
	}
	c.open++
	return observation{c}, nil
}

func (c *script) ObserveCollection(*Descriptor, string) (CollectionObservation, error) {
	if c.refuse != nil {
		return nil, c.refuse
	}
	c.open++
	return collectionObservation{c}, nil
}

func (c *script) Shard(_ *Descriptor, n xdstp.Name) Shard {
	c.asked++
	return c.shards[n.Authority()]
}

func (c *script) Shards(*Descriptor) iter.Seq[Shard] {
	return func(yield func(Shard) bool) {
		for _, s := range c.shards {
			if !yield(s) {
				return
			}
		}
	}
}

func (c *script) Types() *Set { return c.types }

func named(t *testing.T, name string) *update {
	t.Helper()
	return &update{Meta{name: parse(t, name)}}
}

var errScript = errors.New("scripted")

// of returns a client with states, and a handle of its type.
func of(c *script) (*script, TypeOf[*update]) {
	c.Base = NewBase(c)
	return c, Define(Spec[*update]{Name: "test.T"})
}

func TestWatch(t *testing.T) {
	u, v := named(t, "a"), named(t, "a")
	states := func() []State {
		return []State{
			{Update: u, Origin: OriginPrimary},
			{Update: u, Err: errScript, Origin: OriginPrimary},
			{Update: v, Origin: OriginFallback},
			{Err: errScript},
			{Err: errScript},
		}
	}
	c, typ := of(&script{states: states()})
	got := slices.Collect(typ.Watch(t.Context(), c, "a"))
	want := []Event[*update]{
		{Update: u, Changed: true, Origin: OriginPrimary},
		{Update: u, Ambient: errScript, Origin: OriginPrimary},
		{Update: v, Changed: true, Origin: OriginFallback},
		{Err: errScript, Changed: true},
		{Err: errScript},
		{Err: io.EOF}, // the end of the script, as if the client were closed
	}
	if !slices.Equal(got, want) || c.open != 0 {
		t.Errorf("Watch yields %v and leaves %d subscriptions, want %v", got, c.open, want)
	}
	if c.asked != 0 {
		t.Errorf("Watch looked for the shard %d times; it needs the shard only to compare updates of different servers", c.asked)
	}
	c, typ = of(&script{states: states()})
	for range typ.Watch(t.Context(), c, "a") {
		break
	}
	if len(c.states) != 4 || c.open != 0 {
		t.Errorf("an iteration that ends early leaves %d states and %d subscriptions", len(c.states), c.open)
	}
	c, typ = of(&script{refuse: errScript})
	if got := slices.Collect(typ.Watch(t.Context(), c, "a")); !slices.Equal(got, []Event[*update]{{Err: errScript}}) {
		t.Errorf("a refused watch yields %v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c, typ = of(&script{})
	if got := slices.Collect(typ.Watch(ctx, c, "a")); len(got) != 0 {
		t.Errorf("a watch with a cancelled context yields %v", got)
	}
}

// An update of another Go type than the handle's is an error of the client, not a panic.
func TestForeignUpdate(t *testing.T) {
	c, _ := of(&script{states: []State{{Update: named(t, "a")}, {Update: named(t, "a")}}})
	typ := Define(Spec[*RawUpdate[*structpb.Struct]]{Name: "test.T"})
	n := 0
	for ev := range typ.Watch(t.Context(), c, "a") {
		if ev.Err == nil || ev.Update != nil || ev.Changed {
			t.Errorf("event %d is %+v; want an error, and no change of the update", n, ev)
		}
		n++
		if n == 2 {
			break
		}
	}
	if n != 2 {
		t.Errorf("Watch yields %d events; want one for each state", n)
	}
}

// Zero values return errors or nothing.
func TestZeroValues(t *testing.T) {
	c, typ := of(&script{})
	var none TypeOf[*update]
	for what, h := range map[string]struct {
		typ  TypeOf[*update]
		c    Client
		want error
	}{
		"zero handle": {none, c, ErrUnknownType}, "no client": {typ, nil, ErrClosed}, "zero client": {typ, Base{}, ErrClosed},
	} {
		for ev := range h.typ.Watch(t.Context(), h.c, "a") {
			if !errors.Is(ev.Err, h.want) {
				t.Errorf("%s: Watch yields %v", what, ev)
			}
		}
		for ev := range h.typ.WatchCollection(t.Context(), h.c, "*") {
			if !errors.Is(ev.Err, h.want) {
				t.Errorf("%s: WatchCollection yields %v", what, ev)
			}
		}
		_, one := h.typ.Subscribe(h.c, "a", func(Event[*update]) {})
		_, two := h.typ.SubscribeAsync(h.c, "a", func(Event[*update], func()) {})
		_, three := h.typ.Get(t.Context(), h.c, "a")
		_, four := h.typ.Ref(h.c, "a")
		for _, err := range []error{one, two, three, four} {
			if !errors.Is(err, h.want) {
				t.Errorf("%s: error %v; want %v", what, err, h.want)
			}
		}
		if _, ok := h.typ.Lookup(h.c, "a"); ok || len(slices.Collect(h.typ.All(h.c))) > 0 {
			t.Errorf("%s: something is cached", what)
		}
	}
	if none.Name() != "" || none.URL() != "" || Describe(none) != nil || Describe(nil) != nil {
		t.Error("a zero handle has a name or a descriptor")
	}
	if _, err := Find(nil, "test.T"); !errors.Is(err, ErrClosed) {
		t.Errorf("Find without a client: %v", err)
	}
}

func TestFind(t *testing.T) {
	types, err := NewSet(newType("test.T", func(*DecodeContext, []byte) (Update, error) { return nil, errScript }))
	if err != nil {
		t.Fatal(err)
	}
	u := named(t, "a")
	c, _ := of(&script{types: types, states: []State{{Update: u}}})
	typ, err := Find(c, "test.T")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := typ.Get(t.Context(), c, "a"); err != nil || got != Update(u) {
		t.Errorf("Get = %v, %v", got, err)
	}
	if _, err := Find(c, "test.Unknown"); !errors.Is(err, ErrUnknownType) {
		t.Errorf("Find of an unknown type: %v", err)
	}
}

func TestGet(t *testing.T) {
	u := named(t, "a")
	for _, tt := range []struct {
		c    *script
		want *update
		err  error
	}{
		{&script{states: []State{{Update: u, Err: errScript}}}, u, nil},
		{&script{states: []State{{Err: errScript}}}, nil, errScript},
		{&script{}, nil, io.EOF},
		{&script{refuse: errScript}, nil, errScript},
	} {
		c, typ := of(tt.c)
		got, err := typ.Get(t.Context(), c, "a")
		if got != tt.want || !errors.Is(err, tt.err) || c.open != 0 {
			t.Errorf("Get = %v, %v with %d subscriptions left; want %v, %v", got, err, c.open, tt.want, tt.err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errScript)
	c, typ := of(&script{})
	if _, err := typ.Get(ctx, c, "a"); !errors.Is(err, errScript) {
		t.Errorf("Get with a context that has ended: %v", err)
	}
}

func TestWatchCollection(t *testing.T) {
	a, b := named(t, "a"), named(t, "b")
	state := func() []CollectionState {
		return []CollectionState{
			{Ambient: errScript, Synced: true, Members: []MemberState{
				{Name: a.Name(), State: State{Update: a, Origin: OriginPrimary}}, {Name: b.Name(), State: State{Err: errScript}},
			}},
			{Err: errScript, Synced: true, Members: []MemberState{
				{Name: b.Name(), State: State{Update: b, Err: errScript, Origin: OriginFallback}},
				{Name: a.Name(), State: State{Err: errScript}, Last: a},
			}},
		}
	}
	want := []MemberEvent[*update]{
		{Event: Event[*update]{Ambient: errScript}},
		{Name: a.Name(), Event: Event[*update]{Update: a, Changed: true, Origin: OriginPrimary}},
		{Name: b.Name(), Event: Event[*update]{Err: errScript}, Synced: true},
		{Event: Event[*update]{Err: errScript}, Synced: true},
		{Name: b.Name(), Event: Event[*update]{Update: b, Ambient: errScript, Changed: true, Origin: OriginFallback}, Synced: true},
		{Name: a.Name(), Event: Event[*update]{Err: errScript, Changed: true}, Synced: true},
		{Event: Event[*update]{Err: io.EOF}, Synced: true},
	}
	for stop := range len(want) + 1 {
		c, typ := of(&script{collections: state()})
		var got []MemberEvent[*update]
		for m := range typ.WatchCollection(t.Context(), c, "*") {
			if got = append(got, m); len(got) == stop {
				break
			}
		}
		expected := want
		if stop > 0 {
			expected = want[:stop]
		}
		if !slices.Equal(got, expected) || c.open != 0 {
			t.Errorf("WatchCollection yields %v and leaves %d subscriptions, want %v", got, c.open, expected)
		}
	}
	c, typ := of(&script{refuse: errScript})
	if got := slices.Collect(typ.WatchCollection(t.Context(), c, "*")); len(got) != 1 || !errors.Is(got[0].Err, errScript) {
		t.Errorf("a refused watch yields %v", got)
	}
}

func TestSubscribe(t *testing.T) {
	c, typ := of(new(script))
	if _, err := typ.Subscribe(c, "a", nil); !errors.Is(err, errNoFunction) {
		t.Errorf("Subscribe without a function: %v", err)
	}
	if _, err := typ.SubscribeAsync(c, "a", nil); !errors.Is(err, errNoFunction) {
		t.Errorf("SubscribeAsync without a function: %v", err)
	}
	var got Event[*update]
	if _, err := typ.Subscribe(c, "a", func(ev Event[*update]) { got = ev }); err != nil {
		t.Fatal(err)
	}
	u := named(t, "a")
	c.f(State{Update: u, Origin: OriginStored}, State{})
	if want := (Event[*update]{Update: u, Changed: true, Origin: OriginStored}); got != want {
		t.Errorf("event %v, want %v", got, want)
	}
	c.f(State{Err: errScript}, State{Update: u})
	if want := (Event[*update]{Err: errScript, Changed: true}); got != want {
		t.Errorf("event %v, want %v", got, want)
	}
	calls := 0
	if _, err := typ.SubscribeAsync(c, "a", func(ev Event[*update], done func()) { got = ev; done() }); err != nil {
		t.Fatal(err)
	}
	c.async(State{Update: u, Err: errScript, Origin: OriginPrimary}, State{Update: u, Origin: OriginPrimary}, func() { calls++ })
	if want := (Event[*update]{Update: u, Ambient: errScript, Origin: OriginPrimary}); got != want || calls != 1 {
		t.Errorf("event %v, and done was called %d times; want %v, once", got, calls, want)
	}
}

func TestLookups(t *testing.T) {
	one, two := new(rawShard), new(rawShard)
	a, b := named(t, "xdstp://one/t/a"), named(t, "xdstp://two/t/b")
	one.Store(a)
	two.Store(b)
	c, typ := of(&script{shards: map[string]Shard{"one": one, "two": two}})
	for s, want := range map[string]*update{
		"xdstp://one/t/a": a, "xdstp://two/t/b": b, "xdstp://one/t/b": nil, "xdstp://three/t/a": nil, "xdstp://one/t/%zz": nil,
	} {
		if got, ok := typ.Lookup(c, s); got != want || ok != (want != nil) {
			t.Errorf("Lookup(%q) = %v, %v", s, got, ok)
		}
	}
	name := a.Name()
	if n := testing.AllocsPerRun(100, func() { typ.LookupName(c, name) }); n != 0 {
		t.Errorf("LookupName allocates %v times", n)
	}
	n := 0
	for u := range typ.All(c) {
		n++
		if u != a && u != b {
			t.Errorf("All yields %v", u)
		}
	}
	if n != 2 {
		t.Errorf("All yields %d updates, want 2", n)
	}
	for range typ.All(c) {
		break // the loop must end here
	}
	r := Ref{Type: "test.T", Name: a.Name()}
	c.shards["one"] = referring{one, r, a}
	for range typ.Referring(c, r) {
		n++
	}
	for range typ.Referring(c, r) {
		break
	}
	for u := range typ.Referring(c, Ref{Type: "test.Other"}) {
		t.Errorf("Referring yields %v, which does not refer to the resource", u)
	}
	if n != 3 {
		t.Errorf("%d updates refer to a, want 1", n-2)
	}
	if got, err := typ.Ref(c, "xdstp://one/t/a"); err != nil || got != r {
		t.Errorf("Ref = %v, %v; want %v", got, err, r)
	}
}

// referring is a shard with one update that refers to a resource.
type referring struct {
	Shard

	ref Ref
	by  Update
}

func (s referring) Referrers(r Ref) iter.Seq[Update] {
	return func(yield func(Update) bool) {
		if r == s.ref {
			yield(s.by)
		}
	}
}
