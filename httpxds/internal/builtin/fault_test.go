package builtin

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/framework/matcher"
	"github.com/xdsforge/xdsforge/httpxds/httpfilter"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/fault"
)

// injecting returns the RoundTripper of a fault configuration. Requests that pass get the status 299. random is the random
// number of all decisions.
func injecting(t *testing.T, random uint32, configs ...fault.Config) (out []http.RoundTripper) {
	t.Helper()
	instance, err := newFault(func(uint32) uint32 { return random }).NewClient(httpfilter.Host{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(instance.Close)
	passed := httpfilter.RoundTrip(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 299, Body: http.NoBody}, nil
	})
	for _, c := range configs {
		i, err := instance.Interceptor(httpfilter.Use{Config: fault.Config{}, Override: c})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, i.Wrap(passed))
	}
	return out
}

const all = 1_000_000

// TestDrawn expects shares of none, all and some of the requests.
func TestDrawn(t *testing.T) {
	const n = 10_000
	for share, want := range map[uint32][2]int{0: {0, 0}, all: {n, n}, all + 1: {n, n}, all / 2: {n * 4 / 10, n * 6 / 10}, all / 10: {n / 20, n * 15 / 100}} {
		got := 0
		for range n {
			if drawn(share) {
				got++
			}
		}
		if got < want[0] || got > want[1] {
			t.Errorf("a share of %d per million has %d of %d requests; want %d to %d", share, got, n, want[0], want[1])
		}
	}
}

// Delays and aborts follow the configuration and, if it allows that, the headers of a request. Requests of gRPC get a status
// of gRPC.
func TestFaults(t *testing.T) {
	fixed := fault.Config{Delay: &fault.Delay{PerMillion: 500_000, Duration: time.Second}, Abort: &fault.Abort{PerMillion: 500_000, Status: 418, Code: 2}}
	headers := fault.Config{
		Delay: &fault.Delay{PerMillion: 500_000, FromHeaders: true, Unit: 10_000},
		Abort: &fault.Abort{PerMillion: 500_000, FromHeaders: true, Unit: 10_000},
	}
	limited := fixed
	limited.Only = &fault.Selection{Cluster: "c", Headers: []matcher.Header{{Name: "x-a", Present: new(true)}}}
	for name, tt := range map[string]struct {
		config fault.Config
		random uint32
		header http.Header
		wait   time.Duration
		code   int
		grpc   string
	}{
		"chosen":                  {fixed, 499_999, nil, time.Second, 418, ""},
		"not chosen":              {fixed, 500_000, nil, 0, 299, ""},
		"headers without consent": {fixed, 500_000, http.Header{"X-Envoy-Fault-Abort-Request": {"404"}}, 0, 299, ""},
		"request of gRPC":         {fixed, 0, http.Header{"Content-Type": {"application/grpc+proto"}}, time.Second, 200, "2"},
		"code of gRPC":            {fault.Config{Abort: &fault.Abort{PerMillion: all, Code: 14}}, 0, nil, 0, 503, ""},
		"no headers":              {headers, 0, nil, 0, 299, ""},
		"headers": {
			headers, 0,
			http.Header{"X-Envoy-Fault-Abort-Request": {"404"}, "X-Envoy-Fault-Delay-Request": {"53"}},
			53 * time.Millisecond, 404, "",
		},
		"status that is none":      {headers, 0, http.Header{"X-Envoy-Fault-Abort-Request": {"600"}}, 0, 299, ""},
		"code before status":       {headers, 0, http.Header{"X-Envoy-Fault-Abort-Request": {"404"}, "X-Envoy-Fault-Abort-Grpc-Request": {"7"}}, 0, 403, ""},
		"the last code of gRPC":    {headers, 0, http.Header{"X-Envoy-Fault-Abort-Grpc-Request": {"16"}}, 0, 401, ""},
		"an unknown code":          {fault.Config{Abort: &fault.Abort{PerMillion: all, Code: 17}}, 0, nil, 0, 500, ""},
		"code that is none":        {headers, 0, http.Header{"X-Envoy-Fault-Abort-Grpc-Request": {"17"}}, 0, 299, ""},
		"smaller share":            {headers, 199_999, http.Header{"X-Envoy-Fault-Abort-Request": {"404"}, "X-Envoy-Fault-Abort-Request-Percentage": {"19"}}, 0, 299, ""},
		"share that is sufficient": {headers, 199_999, http.Header{"X-Envoy-Fault-Abort-Request": {"404"}, "X-Envoy-Fault-Abort-Request-Percentage": {"20"}}, 0, 404, ""},
		"cluster and header match": {limited, 0, http.Header{"X-A": {"1"}}, time.Second, 418, ""},
		"header does not match":    {limited, 0, nil, 0, 299, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := httptest.NewRequestWithContext(lbtree.WithCall(t.Context(), &lbtree.Call{Cluster: "c"}), http.MethodGet, "/", http.NoBody)
				r.Header = tt.header
				start := time.Now()
				resp, err := injecting(t, tt.random, tt.config)[0].RoundTrip(r)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				if wait := time.Since(start); resp.StatusCode != tt.code || wait != tt.wait || resp.Header.Get("Grpc-Status") != tt.grpc {
					t.Errorf("status %d %v after %v; want %d %q after %v", resp.StatusCode, resp.Header, wait, tt.code, tt.grpc, tt.wait)
				}
				body, err := io.ReadAll(resp.Body)
				if want := tt.code != 299 && tt.grpc == ""; (string(body) == abortText) != want || err != nil {
					t.Errorf("the body is %q, %v", body, err)
				}
			})
		})
	}
	limited.Only.Cluster = "other"
	r := httptest.NewRequestWithContext(lbtree.WithCall(t.Context(), &lbtree.Call{Cluster: "c"}), http.MethodGet, "/", http.NoBody)
	r.Header.Set("X-A", "1")
	if resp, err := injecting(t, 0, limited)[0].RoundTrip(r); err != nil || resp.StatusCode != 299 {
		t.Errorf("a request to another cluster: %v, %v; want that it passes", resp, err)
	}
}

// The limit of active faults applies to all configurations of an instance. A request whose context ends during its delay is
// not sent.
func TestActiveFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := uint32(1)
		rts := injecting(t, 0,
			fault.Config{Delay: &fault.Delay{PerMillion: all, Duration: time.Hour}},
			fault.Config{Abort: &fault.Abort{PerMillion: all, Status: 503}, MaxActive: &one})
		ctx, cancel := context.WithCancelCause(t.Context())
		broken := errors.New("broken")
		var got []int
		send := func(ctx context.Context, rt http.RoundTripper) error {
			resp, err := rt.RoundTrip(httptest.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody))
			if err == nil {
				got = append(got, resp.StatusCode)
				_ = resp.Body.Close()
			}
			return err
		}
		waiting := make(chan error)
		go func() { waiting <- send(ctx, rts[0]) }()
		synctest.Wait()
		_ = send(t.Context(), rts[1])
		cancel(broken)
		if err := <-waiting; !errors.Is(err, broken) {
			t.Errorf("the delayed request ends with %v; want the cause of its context", err)
		}
		_ = send(t.Context(), rts[1])
		if want := []int{299, 503}; !slices.Equal(got, want) {
			t.Errorf("requests during and after a delay get %v; want %v", got, want)
		}
	})
}
