package resource

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"slices"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A script is a client that answers with the states that it is given, and ends with
// io.EOF. It counts the subscriptions that were not stopped.
type script struct {
	states      []State
	collections []CollectionState
	refuse      error
	types       *Set
	shards      map[string]Shard // by authority
	open        int

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

func (c *script) Shard(_ *Descriptor, n xdstp.Name) Shard { return c.shards[n.Authority()] }

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

func TestWatch(t *testing.T) {
	typ := newType("test.T", nil)
	u := named(t, "a")
	states := func() []State { return []State{{Update: u}, {Update: u, Err: errScript}, {Err: errScript}} }
	want := []State{{Update: u}, {Update: u, Err: errScript}, {Update: (*update)(nil), Err: errScript}}

	c := &script{states: states()}
	var got []State
	for u, err := range Watch[*update](t.Context(), c, typ, "a") {
		got = append(got, State{Update: u, Err: err})
	}
	if !slices.Equal(got, want) || c.open != 0 {
		t.Errorf("Watch yields %v and leaves %d subscriptions, want %v", got, c.open, want)
	}
	c = &script{states: states()}
	for _, err := range Watch[*update](t.Context(), c, typ, "a") {
		if err != nil {
			t.Error(err)
		}
		break
	}
	if len(c.states) != 2 || c.open != 0 {
		t.Errorf("an iteration that ends early leaves %d states and %d subscriptions", len(c.states), c.open)
	}
	n := 0
	for u, err := range Watch[*update](t.Context(), &script{refuse: errScript}, typ, "a") {
		n++
		if u != nil || !errors.Is(err, errScript) {
			t.Errorf("a refused watch yields %v, %v", u, err)
		}
	}
	if n != 1 {
		t.Errorf("a refused watch yields %d times", n)
	}
}

func TestWatchRef(t *testing.T) {
	types, err := NewSet(newType("test.T", func(*DecodeContext, []byte) (Update, error) { return nil, errScript }))
	if err != nil {
		t.Fatal(err)
	}
	u := named(t, "a")
	n := 0
	for got, err := range WatchRef(t.Context(), &script{types: types, states: []State{{Update: u}}}, Ref{Type: "test.T", Name: u.Name()}) {
		n++
		if got != Update(u) || err != nil {
			t.Errorf("WatchRef yields %v, %v", got, err)
		}
	}
	for got, err := range WatchRef(t.Context(), &script{types: types}, Ref{Type: "test.Unknown", Name: u.Name()}) {
		n++
		if got != nil || !errors.Is(err, ErrUnknownType) {
			t.Errorf("WatchRef of a type that is not registered yields %v, %v", got, err)
		}
	}
	if n != 2 {
		t.Errorf("%d states, want one of each", n)
	}
}

func TestGet(t *testing.T) {
	typ := newType("test.T", nil)
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
		got, err := Get[*update](t.Context(), tt.c, typ, "a")
		if got != tt.want || !errors.Is(err, tt.err) || tt.c.open != 0 {
			t.Errorf("Get = %v, %v with %d subscriptions left; want %v, %v", got, err, tt.c.open, tt.want, tt.err)
		}
	}
}

func TestWatchCollection(t *testing.T) {
	typ := newType("test.T", nil)
	a, b := named(t, "a"), named(t, "b")
	states := func() []CollectionState {
		return []CollectionState{
			{Members: []MemberState{{Name: a.Name(), State: State{Update: a}}, {Name: b.Name(), State: State{Err: errScript}}}},
			{Err: errScript, Members: []MemberState{{Name: b.Name(), State: State{Update: b}}}},
		}
	}
	type step struct {
		member Member[*update]
		err    error
	}
	want := []step{
		{Member[*update]{Name: a.Name(), Update: a}, nil},
		{Member[*update]{Name: b.Name(), Err: errScript}, nil},
		{Member[*update]{}, errScript},
		{Member[*update]{Name: b.Name(), Update: b}, nil},
	}
	for stop := range len(want) + 1 {
		c := &script{collections: states()}
		var got []step
		for m, err := range WatchCollection[*update](t.Context(), c, typ, "*") {
			if got = append(got, step{m, err}); len(got) == stop {
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
	n := 0
	for m, err := range WatchCollection[*update](t.Context(), &script{refuse: errScript}, typ, "*") {
		n++
		if m.Update != nil || !errors.Is(err, errScript) {
			t.Errorf("a refused watch yields %v, %v", m, err)
		}
	}
	if n != 1 {
		t.Errorf("a refused watch yields %d times", n)
	}
}

// recorded is a watcher that keeps its last notification.
type recorded struct {
	u   *update
	err error
}

func (r *recorded) Changed(u *update) { r.u, r.err = u, nil }
func (r *recorded) Failed(err error)  { r.u, r.err = nil, err }
func (r *recorded) Ambient(err error) { r.err = err }

type holding struct {
	recorded

	held int
}

func (h *holding) Hold(func()) { h.held++ }

func TestSubscribe(t *testing.T) {
	typ := newType("test.T", nil)
	if _, err := Subscribe[*update](&script{}, typ, "a", nil); err == nil {
		t.Error("a nil watcher is accepted")
	}
	c, w := new(script), new(recorded)
	if _, err := Subscribe(c, typ, "a", w); err != nil {
		t.Fatal(err)
	}
	u := named(t, "a")
	c.f(State{Update: u}, State{})
	if w.u != u || c.async != nil {
		t.Errorf("the watcher has %v, and is one that holds: %v", w.u, c.async != nil)
	}
	c.f(State{Err: errScript}, State{Update: u})
	if w.u != nil || w.err == nil {
		t.Errorf("after a failure, the watcher has %v, %v", w.u, w.err)
	}
	h := new(holding)
	if _, err := Subscribe(c, typ, "a", h); err != nil {
		t.Fatal(err)
	}
	c.async(State{Update: u}, State{}, nil)
	if h.u != u || h.held != 1 {
		t.Errorf("the watcher has %v, and held %d times", h.u, h.held)
	}
}

func TestLookups(t *testing.T) {
	typ := newType("test.T", nil)
	one, two := new(rawShard), new(rawShard)
	a, b := named(t, "xdstp://one/t/a"), named(t, "xdstp://two/t/b")
	one.Store(a)
	two.Store(b)
	c := &script{shards: map[string]Shard{"one": one, "two": two}}
	for s, want := range map[string]*update{
		"xdstp://one/t/a": a, "xdstp://two/t/b": b, "xdstp://one/t/b": nil, "xdstp://three/t/a": nil, "xdstp://one/t/%zz": nil,
	} {
		if got, ok := LookupString[*update](c, typ, s); got != want || ok != (want != nil) {
			t.Errorf("LookupString(%q) = %v, %v", s, got, ok)
		}
	}
	n := 0
	for u := range All[*update](c, typ) {
		n++
		if u != a && u != b {
			t.Errorf("All yields %v", u)
		}
	}
	if n != 2 {
		t.Errorf("All yields %d updates, want 2", n)
	}
	for range All[*update](c, typ) {
		break // it must not go on
	}
	r := Ref{Type: "test.T", Name: a.Name()}
	c.shards["one"] = referring{one, r, a}
	for range Referring[*update](c, typ, r) {
		n++
	}
	for range Referring[*update](c, typ, r) {
		break
	}
	for u := range Referring[*update](c, typ, Ref{Type: "test.Other"}) {
		t.Errorf("Referring yields %v, which does not refer to the resource", u)
	}
	if n != 3 {
		t.Errorf("%d updates refer to a, want 1", n-2)
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

// TestMetadata expects kinds that are registered to win over the untyped fields of the
// same key (gRFC A83).
func TestMetadata(t *testing.T) {
	types := extend(t, &MetadataKind{Message: "google.protobuf.Struct", Parse: func(_ *DecodeContext, c TypedConfig) (any, error) {
		m := new(structpb.Struct)
		if err := c.Unmarshal(m); err != nil {
			return nil, err
		}
		if m.GetFields()["bad"] != nil {
			return nil, errScript
		}
		return "typed", nil
	}})
	dc := &DecodeContext{Types: types}
	if m, err := dc.Metadata(nil); m != nil || err != nil {
		t.Errorf("no metadata is %v, %v", m, err)
	}
	typed := func(fields map[string]any) *anypb.Any {
		m, err := structpb.NewStruct(fields)
		if err != nil {
			t.Fatal(err)
		}
		a, err := anypb.New(m)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	fields, err := structpb.NewStruct(map[string]any{"x": 1.0})
	if err != nil {
		t.Fatal(err)
	}
	m, err := dc.Metadata(&corev3.Metadata{
		FilterMetadata:      map[string]*structpb.Struct{"both": fields, "untyped": fields, "unknown": fields},
		TypedFilterMetadata: map[string]*anypb.Any{"both": typed(nil), "typed": typed(nil), "unknown": {TypeUrl: "x/test.Unknown"}, "malformed": nil},
	})
	if err != nil || len(m) != 4 || m["both"].Value != "typed" || m["typed"].Value != "typed" {
		t.Errorf("metadata = %v, %v", m, err)
	}
	for _, key := range []string{"untyped", "unknown"} {
		if v, _ := m[key].Value.(map[string]any); m[key].Message != structMessage || v["x"] != 1.0 {
			t.Errorf("metadata of %s = %+v", key, m[key])
		}
	}
	_, err = dc.Metadata(&corev3.Metadata{TypedFilterMetadata: map[string]*anypb.Any{"k": typed(map[string]any{"bad": true})}})
	if err == nil || err.Error() != "typed_filter_metadata[k]; scripted" {
		t.Errorf("bad metadata: %v", err)
	}
}

// TestCertificateProviderIsCheckedOnce expects one check of each configuration.
func TestCertificateProviderIsCheckedOnce(t *testing.T) {
	checks := 0
	p := &CertificateProvider{Plugin: "p", Check: func(config json.RawMessage) error {
		checks++
		if string(config) == "bad" {
			return errScript
		}
		return nil
	}}
	for range 3 {
		if err := p.checkOnce(json.RawMessage("good")); err != nil {
			t.Errorf("a good configuration: %v", err)
		}
		if err := p.checkOnce(json.RawMessage("bad")); !errors.Is(err, errScript) {
			t.Errorf("a bad configuration: %v", err)
		}
	}
	if checks != 2 {
		t.Errorf("%d checks of two configurations", checks)
	}
	if err := new(CertificateProvider).checkOnce(nil); err != nil {
		t.Errorf("a provider that accepts anything: %v", err)
	}
}

func TestArenas(t *testing.T) {
	types, err := NewSet(newType("test.T", func(*DecodeContext, []byte) (Update, error) { return nil, errScript }))
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range []*Set{types, nil} {
		dc := &DecodeContext{Types: set}
		r := dc.Read("test.T", []byte{1 << 3, 7})
		if !r.Next() || r.Uint32() != 7 || r.Next() || !r.OK() {
			t.Error("the message is not read")
		}
		dc.Done("test.T")
		if dc.Arena() != nil {
			t.Error("an arena that was given back is still there")
		}
	}
	if got := types.byName["test.T"]; got.URL() != "type.googleapis.com/test.T" || got.ShortName() != "T" {
		t.Errorf("URL and short name are %q and %q", got.URL(), got.ShortName())
	}
}

func TestSmallThings(t *testing.T) {
	n, err := (&DecodeContext{}).ParseName("xdstp://a/t/b?y=2&x=1")
	if err != nil || n.String() != "xdstp://a/t/b?x=1&y=2" {
		t.Errorf("without a bootstrap, the name is %q, %v", n, err)
	}
	if m := (&Meta{raw: []byte("x")}); string(m.Raw()) != "x" || m.Server() != nil {
		t.Error("Raw and Server return something else")
	}
	if !(State{Err: errScript}).Known() || !(State{Update: &update{}}).Known() || (State{}).Known() {
		t.Error("a state is known with an update or an error, and not otherwise")
	}
	if names := ExtensionNames(&HTTPFilter{Config: "a", Override: "b"}); !slices.Equal(names, []string{"HTTP filter a", "HTTP filter b"}) {
		t.Errorf("ExtensionNames = %q", names)
	}
}
