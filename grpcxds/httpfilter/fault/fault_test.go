package fault

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/internal/extensions/faults"
	config "github.com/xdsforge/xdsforge/plugins/httpfilter/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func interceptor(t testing.TB, f *httpfilter.Filter, c config.Config) httpfilter.ClientBefore {
	t.Helper()
	i, err := create(t, f, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// create creates the interceptor of a configuration. The interceptor sees no messages.
func create(t testing.TB, f *httpfilter.Filter, c, override any) (httpfilter.ClientBefore, error) {
	t.Helper()
	instance, err := f.NewClient(httpfilter.Host{})
	if err != nil {
		t.Fatal(err)
	}
	i, err := instance.Interceptor(c, override)
	before, _ := i.(httpfilter.ClientBefore)
	return before, err
}

// outcome is the status of a call. OK stands for ErrEnd. It is nil if the call passes.
func outcome(t testing.TB, i httpfilter.ClientBefore, md metadata.MD) codes.Code {
	t.Helper()
	_, err := i(t.Context(), &httpfilter.ClientCall{Method: "/a.A/x", Metadata: md})
	switch {
	case err == nil:
		return pass
	case errors.Is(err, httpfilter.ErrEnd):
		return codes.OK
	default:
		return status.Code(err)
	}
}

// always is a source that returns the same random number each time.
func always(n uint32) func(uint32) uint32 { return func(uint32) uint32 { return n } }

const all = 1_000_000

// The table has calls that are delayed or aborted, for known random numbers.
func TestDecisions(t *testing.T) {
	headers := config.Config{
		Delay: &config.Delay{PerMillion: 500_000, FromHeaders: true, Unit: 10_000},
		Abort: &config.Abort{PerMillion: 500_000, FromHeaders: true, Unit: 10_000},
	}
	fixed := config.Config{
		Delay: &config.Delay{PerMillion: 500_000, Duration: time.Second},
		Abort: &config.Abort{PerMillion: 500_000, Code: 14},
	}
	for _, test := range []struct {
		name   string
		config config.Config
		random uint32
		md     metadata.MD
		wait   time.Duration
		code   codes.Code
	}{
		{"chosen", fixed, 499_999, nil, time.Second, codes.Unavailable},
		{"not chosen", fixed, 500_000, nil, 0, pass},
		{"headers do not count for others", fixed, 0, metadata.MD{abortGRPCHeader: {"3"}, delayHeader: {"7"}}, time.Second, codes.Unavailable},
		{"OK", config.Config{Abort: &config.Abort{PerMillion: all}}, 999_999, nil, 0, codes.OK},
		{"nobody", config.Config{Delay: &config.Delay{Duration: time.Second}}, 0, nil, 0, pass},

		{"no headers", headers, 0, nil, 0, pass},
		{"both headers", headers, 499_999, metadata.MD{abortGRPCHeader: {"3"}, delayHeader: {"53"}}, 53 * time.Millisecond, codes.InvalidArgument},
		{"headers, and not chosen", headers, 500_000, metadata.MD{abortGRPCHeader: {"3"}, delayHeader: {"53"}}, 0, pass},
		{"an HTTP status", headers, 0, metadata.MD{abortHTTPHeader: {"404"}}, 0, codes.Unimplemented},
		{"an HTTP status of success", headers, 0, metadata.MD{abortHTTPHeader: {"200"}}, 0, codes.Unknown},
		{"a code counts more than a status", headers, 0, metadata.MD{abortHTTPHeader: {"404"}, abortGRPCHeader: {"0"}}, 0, codes.OK},
		{"the last code", headers, 0, metadata.MD{abortHTTPHeader: {"404"}, abortGRPCHeader: {"16"}}, 0, codes.Unauthenticated},
		{"a code that is none", headers, 0, metadata.MD{abortHTTPHeader: {"404"}, abortGRPCHeader: {"17"}}, 0, codes.Unimplemented},
		{"a status that is none", headers, 0, metadata.MD{abortHTTPHeader: {"600"}, delayHeader: {"-1"}}, 0, pass},
		{"no numbers", headers, 0, metadata.MD{abortGRPCHeader: {"x"}, delayHeader: {"1.5"}}, 0, pass},
		{"the first number", headers, 0, metadata.MD{abortGRPCHeader: {"x", "5", "3"}}, 0, codes.NotFound},
		{"a share", headers, 199_999, metadata.MD{abortGRPCHeader: {"3"}, abortShareHeader: {"20"}, delayHeader: {"53"}, delayShareHeader: {"19"}}, 0, codes.InvalidArgument},
		{"another share", headers, 199_999, metadata.MD{abortGRPCHeader: {"3"}, abortShareHeader: {"19"}, delayHeader: {"53"}, delayShareHeader: {"20"}}, 53 * time.Millisecond, pass},
		{"a share that is too much", headers, 500_000, metadata.MD{abortGRPCHeader: {"3"}, abortShareHeader: {"4294967295"}}, 0, pass},
		{"a share that is far too much", headers, 499_999, metadata.MD{abortGRPCHeader: {"3"}, abortShareHeader: {"429497"}}, 0, codes.InvalidArgument},
		{"a share that is none", headers, 499_999, metadata.MD{abortGRPCHeader: {"3"}, abortShareHeader: {"few"}}, 0, codes.InvalidArgument},
		{
			"a share in other units",
			config.Config{Abort: &config.Abort{PerMillion: all, FromHeaders: true, Unit: 100}},
			300,
			metadata.MD{abortGRPCHeader: {"3"}, abortShareHeader: {"3"}},
			0, pass,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				i := interceptor(t, newFilter(always(test.random)), test.config)
				start := time.Now()
				if got := outcome(t, i, test.md); got != test.code || time.Since(start) != test.wait {
					t.Errorf("%v after %v; want %v after %v", got, time.Since(start), test.code, test.wait)
				}
			})
		})
	}
}

// The filter decides about delay and abort independently. With 20 % and 5 %, 24 % of the calls have
// a fault. The bounds are six standard deviations of 100,000 calls.
func TestShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := interceptor(t, Filter(), config.Config{
			Delay: &config.Delay{PerMillion: 200_000, Duration: time.Second},
			Abort: &config.Abort{PerMillion: 50_000, Code: 14},
		})
		const calls = 100_000
		var delayed, aborted, either float64
		for range calls {
			start := time.Now()
			failed := outcome(t, i, nil) != pass
			waited := time.Since(start) > 0
			if waited {
				delayed++
			}
			if failed {
				aborted++
			}
			if waited || failed {
				either++
			}
		}
		for name, x := range map[string]struct{ got, want float64 }{"wait": {delayed, 0.2}, "fail": {aborted, 0.05}, "do either": {either, 0.24}} {
			if off := math.Abs(x.got - x.want*calls); off > 6*math.Sqrt(calls*x.want*(1-x.want)) {
				t.Errorf("%v of %v calls %s; want %v", x.got, calls, name, x.want*calls)
			}
		}
	})
}

// A fault is active until its delay has passed. The limit applies to all calls of a filter, and
// calls above it pass.
func TestMaxActive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFilter(always(0))
		two := uint32(2)
		limited := interceptor(t, f, config.Config{Delay: &config.Delay{PerMillion: all, Duration: time.Minute}, Abort: &config.Abort{PerMillion: all, Code: 14}, MaxActive: &two})
		free := interceptor(t, f, config.Config{Delay: &config.Delay{PerMillion: all, Duration: time.Hour}})
		got := make(chan codes.Code, 8)
		advance := func(d time.Duration) {
			<-time.NewTimer(d).C
			synctest.Wait()
		}
		start := func(i httpfilter.ClientBefore) {
			go func() { got <- outcome(t, i, nil) }()
			synctest.Wait()
		}
		start(free)
		start(limited)
		start(limited)
		start(limited)
		if n := len(got); n != 2 {
			t.Fatalf("%d calls passed; want 2", n)
		}
		advance(time.Minute)
		start(limited) // the previous fault is over
		if n := len(got); n != 3 {
			t.Fatalf("%d calls are over; want 3", n)
		}
		advance(time.Hour)
		close(got)
		var codesSeen []codes.Code
		for c := range got {
			codesSeen = append(codesSeen, c)
		}
		if want := []codes.Code{pass, pass, codes.Unavailable, codes.Unavailable, pass}; !slices.Equal(codesSeen, want) {
			t.Errorf("%v; want %v", codesSeen, want)
		}
		none := uint32(0)
		if got := outcome(t, interceptor(t, f, config.Config{Abort: &config.Abort{PerMillion: all, Code: 14}, MaxActive: &none}), nil); got != pass {
			t.Errorf("%v, with no fault allowed", got)
		}
	})
}

// A call that ends during its delay stops waiting. The filter does not abort it.
func TestWaitingEndsWithTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		injects := &injector{
			config: config.Config{Delay: &config.Delay{PerMillion: all, Duration: time.Hour}, Abort: &config.Abort{PerMillion: all, Code: 5}},
			faults: &faults.Faults{Random: always(0)},
		}
		i := injects.intercept
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		_, err := i(ctx, new(httpfilter.ClientCall))
		if status.Code(err) != codes.DeadlineExceeded || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		ctx, cancel = context.WithCancel(t.Context())
		cancel()
		if _, err := i(ctx, new(httpfilter.ClientCall)); status.Code(err) != codes.Canceled {
			t.Error(err)
		}
		if one := uint32(1); !injects.faults.Begin(&one) {
			t.Error("faults are active after the calls")
		}
	})
}

// An abort without a delay does not wait. Its status is also that of a call that has ended already, each time.
func TestAbortWithoutDelay(t *testing.T) {
	i := interceptor(t, newFilter(always(0)), config.Config{Abort: &config.Abort{PerMillion: all, Code: 5}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		if _, err := i(ctx, new(httpfilter.ClientCall)); status.Code(err) != codes.NotFound {
			t.Fatalf("an aborted call ends with %v; want NOT_FOUND", err)
		}
	}
}

func TestOverride(t *testing.T) {
	f := newFilter(always(0))
	abort := config.Config{Abort: &config.Abort{PerMillion: all, Code: 14}}
	i, err := create(t, f, abort, config.Config{})
	if i != nil || err != nil {
		t.Errorf("an override without faults has an interceptor, error %v; want none", err)
	}
	if i, err = create(t, f, config.Config{}, abort); err != nil || outcome(t, i, nil) != codes.Unavailable {
		t.Errorf("an override with an abort does not abort calls (%v)", err)
	}
	if _, err := create(t, f, "a configuration", nil); err == nil {
		t.Error("a configuration of another filter is taken")
	}
}

func BenchmarkPass(b *testing.B) {
	i := interceptor(b, Filter(), config.Config{Delay: &config.Delay{PerMillion: 1, Duration: 1}, Abort: &config.Abort{PerMillion: 1, FromHeaders: true, Unit: 1}})
	call, ctx := &httpfilter.ClientCall{Metadata: metadata.MD{"a": {"b"}}}, b.Context()
	b.ReportAllocs()
	for b.Loop() {
		_, _ = i(ctx, call)
	}
}
