package filterchain_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/grpcxds/internal/filterchain"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

type seenKey struct{}

// A note is an interceptor that appends its text to the texts in the context.
type note struct {
	text string
	err  error
}

func (n note) intercept(ctx context.Context, onDone func(func(error))) (context.Context, error) {
	if n.err != nil {
		return nil, n.err
	}
	seen, _ := ctx.Value(seenKey{}).(*[]string)
	*seen = append(*seen, n.text)
	onDone(func(err error) { *seen = append(*seen, fmt.Sprintf("%s done: %v", n.text, err)) })
	return ctx, nil
}

type serverNote struct{ note }

func (n serverNote) before(ctx context.Context, call *httpfilter.ServerCall) (context.Context, error) {
	return n.intercept(ctx, call.OnDone)
}

type clientNote struct{ note }

func (n clientNote) before(ctx context.Context, call *httpfilter.ClientCall) (context.Context, error) {
	return n.intercept(ctx, call.OnDone)
}

var errConfig = errors.New("cannot be used")

// noteOf creates a note. Its text consists of the configuration and the override.
func noteOf(config, override any) (note, error) {
	n := note{}
	switch c := config.(type) {
	case string:
		n.text = c
	case error:
		n.err = c
	}
	switch o := override.(type) {
	case string:
		n.text += "/" + o
	case error:
		if errors.Is(o, errConfig) {
			return note{}, o
		}
		n.err = o
	}
	return n, nil
}

func filter(message string) httpfilter.Filter {
	return httpfilter.Filter{
		HTTPFilter: &resource.HTTPFilter{Config: message, Override: message + "Override", Sides: resource.ClientSide | resource.ServerSide},
		NewServer: httpfilter.ServerFunc(func(config, override any) (httpfilter.ServerInterceptor, error) {
			if config == nil {
				return nil, nil //nolint:nilnil // lets every call pass
			}
			n, err := noteOf(config, override)
			return httpfilter.ServerBefore(serverNote{n}.before), err
		}),
		NewClient: httpfilter.ClientFunc(func(config, override any) (httpfilter.ClientInterceptor, error) {
			n, err := noteOf(config, override)
			return httpfilter.ClientBefore(clientNote{n}.before), err
		}),
	}
}

// A registry creates chains in a set of its own.
type registry struct {
	*filterchain.Registry
	client *filterchain.ClientSet
	server *filterchain.ServerSet
}

// Client returns the chain of a channel for overrides, from the least to the most specific level.
func (r registry) Client(list []listener.HTTPFilter, levels ...map[string]route.FilterOverride) (*filterchain.ClientChain, error) {
	l, err := r.Registry.Client(r.client, httpfilter.Host{}, list)
	return chainOf(l, err, levels)
}

// Server is Client for a server.
func (r registry) Server(list []listener.HTTPFilter, levels ...map[string]route.FilterOverride) (*filterchain.ServerChain, error) {
	l, err := r.Registry.Server(r.server, nil, httpfilter.Host{}, list)
	return chainOf(l, err, levels)
}

// A level is a list, or one that overrides it.
type level[L, C any] interface {
	Override(overrides map[string]route.FilterOverride) (L, error)
	Chain() (C, error)
}

func chainOf[L level[L, C], C any](l L, err error, levels []map[string]route.FilterOverride) (none C, _ error) {
	for _, o := range levels {
		if err == nil {
			l, err = l.Override(o)
		}
	}
	if err != nil {
		return none, err
	}
	return l.Chain()
}

func inSets(r *filterchain.Registry) registry {
	return registry{r, new(filterchain.ClientHolder).Begin(), new(filterchain.ServerHolder).Begin()}
}

func table(t *testing.T) registry {
	t.Helper()
	f, err := filterchain.New([]httpfilter.Filter{
		filter("a.A"), filter("a.B"),
		{HTTPFilter: &resource.HTTPFilter{Config: "a.End", Terminal: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return inSets(f)
}

func overrides(pairs ...any) map[string]route.FilterOverride {
	out := make(map[string]route.FilterOverride)
	for i := 0; i < len(pairs); i += 3 {
		out[pairs[i].(string)] = route.FilterOverride{Message: pairs[i+1].(string), Config: pairs[i+2]}
	}
	return out
}

func list() []listener.HTTPFilter {
	return []listener.HTTPFilter{
		{Name: "one", Message: "a.A", Config: "1"},
		{Name: "optional", Message: "a.Unknown", Skipped: "it is optional"},
		{Name: "two", Message: "a.B", Config: "2"},
		{Name: "three", Message: "a.A", Config: "3"},
		{Name: "end", Message: "a.End"},
	}
}

// The filters run in order, each with its most specific override (A39).
func TestOverridesOfAClient(t *testing.T) {
	host := overrides("one", "a.AOverride", "host", "three", "a.AOverride", "host", "nobody", "a.AOverride", "x")
	routes := overrides("two", "a.BOverride", "route", "three", "a.AOverride", "route")
	cluster := overrides("three", "a.AOverride", "cluster")
	for _, test := range []struct {
		overrides []map[string]route.FilterOverride
		want      []string
	}{
		{nil, []string{"1", "2", "3"}},
		{[]map[string]route.FilterOverride{nil, nil, nil}, []string{"1", "2", "3"}},
		{[]map[string]route.FilterOverride{host}, []string{"1/host", "2", "3/host"}},
		{[]map[string]route.FilterOverride{host, routes}, []string{"1/host", "2/route", "3/route"}},
		{[]map[string]route.FilterOverride{host, routes, cluster}, []string{"1/host", "2/route", "3/cluster"}},
		{[]map[string]route.FilterOverride{nil, nil, cluster}, []string{"1", "2", "3/cluster"}},
	} {
		c, err := table(t).Client(list(), test.overrides...)
		if err != nil {
			t.Fatal(err)
		}
		var seen []string
		ctx := context.WithValue(t.Context(), seenKey{}, &seen)
		if _, err := c.Intercept(ctx, new(httpfilter.ClientCall)); err != nil || !slices.Equal(seen, test.want) {
			t.Errorf("%q, %v; want %q", seen, err, test.want)
		}
	}
}

// If a filter ends a call, later filters do not run, and earlier ones are notified.
func TestEndOfACall(t *testing.T) {
	for _, test := range []struct {
		err  error
		want error
	}{
		{status.Error(codes.Aborted, "no"), status.Error(codes.Aborted, "no")},
		{errors.New("no"), status.Error(codes.Unknown, "no")},
		{context.DeadlineExceeded, status.Error(codes.DeadlineExceeded, "context deadline exceeded")},
		{httpfilter.ErrEnd, httpfilter.ErrEnd},
	} {
		l := list()
		l[2].Config = test.err
		var seen []string
		ctx := context.WithValue(t.Context(), seenKey{}, &seen)
		check := func(err error, done func(error)) {
			t.Helper()
			done(err)
			if !errors.Is(err, test.want) && status.Convert(err).String() != status.Convert(test.want).String() {
				t.Errorf("%v; want %v", err, test.want)
			}
			if want := []string{"1", fmt.Sprintf("1 done: %v", err)}; !slices.Equal(seen, want) {
				t.Errorf("%q; want %q", seen, want)
			}
			seen = nil
		}
		server, err := table(t).Server(l)
		if err != nil {
			t.Fatal(err)
		}
		var serverCall httpfilter.ServerCall
		_, err = server.Intercept(ctx, &serverCall)
		check(err, serverCall.Done)
		client, err := table(t).Client(l)
		if err != nil {
			t.Fatal(err)
		}
		var clientCall httpfilter.ClientCall
		_, err = client.Intercept(ctx, &clientCall)
		check(err, clientCall.Done)
	}
}

// A level without overrides has the same list, and a list the same chain each time. No list has no chain, which lets calls pass.
func TestChainsAreShared(t *testing.T) {
	r := table(t)
	l, err := r.Registry.Server(r.server, nil, httpfilter.Host{}, list())
	if err != nil {
		t.Fatal(err)
	}
	same, err := l.Override(overrides("nobody", "a.AOverride", "x"))
	if same != l || err != nil {
		t.Errorf("%p, %v; want %p", same, err, l)
	}
	first, err := l.Chain()
	if again, err2 := l.Chain(); first == nil || again != first || err != nil || err2 != nil {
		t.Errorf("chains %p (%v) and %p (%v); want the same one", first, err, again, err2)
	}
	var none *filterchain.ServerList
	if same, err = none.Override(overrides("one", "a.AOverride", "x")); same != nil || err != nil {
		t.Errorf("%p, %v; want nil", same, err)
	}
	chain, err := none.Chain()
	if chain != nil || err != nil {
		t.Errorf("%p, %v; want nil", chain, err)
	}
	if ctx, err := chain.Intercept(t.Context(), nil); ctx != t.Context() || err != nil {
		t.Errorf("nil ends calls: %v", err)
	}
}

// The chain does not call a filter whose interceptor is nil.
func TestNoInterceptor(t *testing.T) {
	c, err := table(t).Server([]listener.HTTPFilter{{Name: "one", Message: "a.A"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Intercept(t.Context(), new(httpfilter.ServerCall)); err != nil {
		t.Error(err)
	}
}

func TestWhatCannotRun(t *testing.T) {
	f := table(t)
	for _, test := range []struct {
		list []listener.HTTPFilter
		o    map[string]route.FilterOverride
		want string
	}{
		{[]listener.HTTPFilter{{Name: "x", Message: "a.Unknown"}}, nil, `"x": a.Unknown cannot run on a server`},
		{list(), overrides("one", "a.BOverride", "x"), `"one": an override is a a.BOverride; must be one of a.A`},
		{list(), overrides("one", "a.AOverride", errConfig), `"one": cannot be used`},
	} {
		_, err := f.Server(test.list, test.o)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v; want %s", err, test.want)
		}
	}
}

func TestTable(t *testing.T) {
	_, err := filterchain.New([]httpfilter.Filter{
		filter("a.A"), filter("a.A"),
		{},
		{HTTPFilter: &resource.HTTPFilter{Config: "a.S", Sides: resource.ServerSide}},
		{HTTPFilter: &resource.HTTPFilter{Config: "a.C", Sides: resource.ClientSide}},
	})
	for _, want := range []string{"a.A is there twice", "HTTPFilter is nil", "Filter.NewServer of a.S is nil", "Filter.NewClient of a.C is nil"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

func pass(ctx context.Context, _ *httpfilter.ServerCall) (context.Context, error) {
	return ctx, nil
}

func tenFilters(t testing.TB) *filterchain.ServerChain {
	t.Helper()
	f, err := filterchain.New([]httpfilter.Filter{{
		HTTPFilter: &resource.HTTPFilter{Config: "a.A"},
		NewServer:  httpfilter.ServerFunc(func(any, any) (httpfilter.ServerInterceptor, error) { return httpfilter.ServerBefore(pass), nil }),
	}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := inSets(f).Server(slices.Repeat([]listener.HTTPFilter{{Name: "x", Message: "a.A"}}, 10))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestIdle(t *testing.T) {
	list := []listener.HTTPFilter{{Name: "end", Message: "a.End"}}
	s, err := table(t).Server(list)
	if err != nil || !s.Idle() || !(*filterchain.ServerChain)(nil).Idle() {
		t.Errorf("a server's chain without filters is not idle (%v)", err)
	}
	c, err := table(t).Client(list)
	if err != nil || !c.Idle() || !(*filterchain.ClientChain)(nil).Idle() {
		t.Errorf("a client's chain without filters is not idle (%v)", err)
	}
	if tenFilters(t).Idle() {
		t.Error("a chain of ten filters is idle")
	}
}

func TestChainAllocatesNothing(t *testing.T) {
	c, call := tenFilters(t), new(httpfilter.ServerCall)
	if n := testing.AllocsPerRun(100, func() { _, _ = c.Intercept(t.Context(), call) }); n > 0 {
		t.Errorf("%v allocations for a call", n)
	}
}

func BenchmarkTenFilters(b *testing.B) {
	c, call, ctx := tenFilters(b), new(httpfilter.ServerCall), b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Intercept(ctx, call); err != nil {
			b.Fatal(err)
		}
	}
}
