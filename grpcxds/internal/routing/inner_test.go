package routing

import (
	"context"
	"math"
	"regexp"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/routes"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// Hashes are combined as in gRFC A42, and xxhash's equal those of its reference.
func TestHash(t *testing.T) {
	const empty, abc = 0xef46db3751d8e999, 0x44bc2cf5ad770999 // XXH64 of "" and "abc", seed 0
	rotated := uint64(abc)<<1 | uint64(abc)>>63
	headers := route.Metadata{"a": {"abc"}, "e": {""}, "two": {"1", "2"}, "x-bin": {"abc"}, "user": {"id-17-x"}}
	header := func(name string) route.HashPolicy { return route.HashPolicy{Header: name} }
	channel, terminal := route.HashPolicy{}, header("a")
	terminal.Terminal = true
	rewritten := header("user")
	rewritten.Regex, rewritten.Substitution = regexp.MustCompile(`id-(\d+)-x`), "${1}"
	for name, test := range map[string]struct {
		policies []route.HashPolicy
		want     uint64
		made     bool
	}{
		"none":                       {nil, 0, false},
		"a header":                   {[]route.HashPolicy{header("a")}, abc, true},
		"an empty header":            {[]route.HashPolicy{header("e")}, empty, true},
		"a missing one":              {[]route.HashPolicy{header("b")}, 0, false},
		"a binary one":               {[]route.HashPolicy{header("x-bin")}, 0, false},
		"several values":             {[]route.HashPolicy{header("two")}, xxhash.Sum64String("1,2"), true},
		"the content type":           {[]route.HashPolicy{header("content-type")}, xxhash.Sum64String("application/grpc"), true},
		"the channel":                {[]route.HashPolicy{channel}, 77, true},
		"two":                        {[]route.HashPolicy{header("a"), channel}, rotated ^ 77, true},
		"one is missing":             {[]route.HashPolicy{header("b"), channel}, 77, true},
		"terminal":                   {[]route.HashPolicy{terminal, channel}, abc, true},
		"terminal after another one": {[]route.HashPolicy{channel, terminal, channel}, 77<<1 ^ abc, true},
		"a part of it":               {[]route.HashPolicy{rewritten}, xxhash.Sum64String("17"), true},
	} {
		if got, made := routes.Hash(test.policies, 77, values(headers)); got != test.want || made != test.made {
			t.Errorf("%s: %#x, %t; want %#x, %t", name, got, made, test.want, test.made)
		}
	}
}

// Back-offs double up to their maximum, with a fifth of jitter. They start again after the server
// has sent a delay (gRFC A6).
func TestBackOff(t *testing.T) {
	const ms = time.Millisecond
	tr := &tries{gate: new(gate), retry: &retry{pause: route.BackOff{Base: 25 * ms, Max: 250 * ms}}}
	check := func(want time.Duration, values ...string) {
		t.Helper()
		md := metadata.MD{}
		if len(values) > 0 {
			md["grpc-retry-pushback-ms"] = values
		}
		got, ok := tr.pushback(md)
		if !ok || math.Abs(float64(got-want)) > 0.2001*float64(want) || len(values) > 0 && got != want {
			t.Errorf("%v, %t; want about %v", got, ok, want)
		}
	}
	for _, want := range []time.Duration{25 * ms, 50 * ms, 100 * ms, 200 * ms, 250 * ms, 250 * ms} {
		check(want)
	}
	check(7*ms, "7")
	check(25 * ms)
	tr.retry = &retry{pause: route.BackOff{Base: 1 << 61, Max: 1<<62 + 1}}
	tr.paused = 2
	check(1 << 62) // nor does it overflow
	tr.retry = &retry{pause: route.BackOff{Base: math.MaxInt64, Max: math.MaxInt64}}
	for range 30 {
		check(math.MaxInt64 / 2) // nor does its jitter
	}
	tr.paused = 0
	check(0, "0")
	for _, values := range [][]string{{"-1"}, {"x"}, {"1", "2"}, {"99999999999"}, {""}} {
		if _, ok := tr.pushback(metadata.MD{"grpc-retry-pushback-ms": values}); ok {
			t.Errorf("%q: the server does not want it", values)
		}
	}
}

// The trailer of an attempt applies only to the next attempt. An attempt that reaches no server has
// no trailer.
func TestTrailersAreOfOneAttempt(t *testing.T) {
	tr := &tries{gate: new(gate), retry: &retry{codes: 1 << codes.Unavailable, max: 2, pause: route.BackOff{Base: time.Millisecond, Max: time.Millisecond}}}
	attempts := 0
	err := unary(tr, t.Context(), nil, func(_ context.Context, opts []grpc.CallOption) error {
		attempts++
		for _, o := range opts {
			if o, ok := o.(grpc.TrailerCallOption); ok && attempts == 1 {
				*o.TrailerAddr = metadata.Pairs("grpc-retry-pushback-ms", "0")
			}
		}
		return status.Error(codes.Unavailable, "")
	})
	if status.Code(err) != codes.Unavailable || attempts != 3 {
		t.Errorf("%d attempts, %v", attempts, err)
	}
	if tr.paused != 1 {
		t.Errorf("%d back-offs, want one: the server spoke of the first retry only", tr.paused)
	}
}

// TestHashOfACall expects a hash only for routes with hash policies.
func TestHashOfACall(t *testing.T) {
	to := &target{Call: new(lbtree.Call)}
	with := &plan{Own: settings{id: 7, hash: make([]route.HashPolicy, 1)}}
	if got := info(t.Context(), with, to, new(headers)); !got.HasHash || to.Call.HasHash {
		t.Errorf("a call by a hash policy has a hash: %t; all calls have: %t", got.HasHash, to.Call.HasHash)
	}
	if got := info(t.Context(), new(plan), to, nil); got != to.Call {
		t.Error("a call of a route without hash policies does not share the common value")
	}
}

// TestReplayKeepsUpToItsLimit expects the buffer to keep messages up to the limit. The next message
// ends retries.
func TestReplayKeepsUpToItsLimit(t *testing.T) {
	r := &replay{limit: 10, finish: func(error) {}}
	sent := 0
	send := func(grpc.ClientStream) error {
		sent++
		return nil
	}
	for i, tt := range []struct {
		size, kept int
		committed  bool
	}{{4, 1, false}, {6, 2, false}, {0, 3, false}, {1, 0, true}, {1, 0, true}} {
		if err := r.forward(tt.size, send); err != nil {
			t.Fatal(err)
		}
		if len(r.sent) != tt.kept || r.committed != tt.committed || sent != i+1 {
			t.Errorf("message %d: %d kept, committed %t, %d sent; want %d, %t, %d", i, len(r.sent), r.committed, sent, tt.kept, tt.committed, i+1)
		}
	}
}
