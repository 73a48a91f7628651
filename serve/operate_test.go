package serve_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/serve"
)

// open opens a stream of the delta protocol that subscribes to names. If the server has ended it already, Recv says why.
func (b *bench) open(names ...string) deltaStream {
	b.t.Helper()
	s := b.delta(b.dial(""))
	if err := s.Send(&discoveryv3.DeltaDiscoveryRequest{Node: node("n"), TypeUrl: clusterURL, ResourceNamesSubscribe: names}); err != nil && !errors.Is(err, io.EOF) {
		b.t.Fatal(err)
	}
	return s
}

// end receives until the stream ends.
func end(s deltaStream) (err error) {
	for err == nil {
		_, err = s.Recv()
	}
	return err
}

// With WithCoalesce, a client gets the changes of a period in one response.
func TestCoalesce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, serve.WithCoalesce(time.Second))
		s := b.open("a")
		responses := make(chan string, 10)
		go func() {
			for {
				r, err := s.Recv()
				if err != nil {
					return
				}
				var c clusterv3.Cluster
				if len(r.GetResources()) == 1 && r.GetResources()[0].GetResource().UnmarshalTo(&c) == nil {
					responses <- c.GetEdsClusterConfig().GetServiceName()
				}
			}
		}()
		pass(time.Second)
		for i := range 10 {
			b.put(b.main, "a", fmt.Sprint(i))
			pass(190 * time.Millisecond)
		}
		pass(time.Second)
		close(responses)
		var got []string
		for name := range responses {
			got = append(got, name)
		}
		if want := []string{"0", "5", "9"}; !slices.Equal(got, want) {
			t.Errorf("the client receives %q of ten changes in two seconds, want %q", got, want)
		}
	})
}

// Draining ends the streams one after the other within the spread, and admits no more.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		start := time.Now()
		times := make(chan time.Duration, 10)
		for range cap(times) {
			s := b.open("a")
			go func() {
				if err := end(s); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "draining") {
					t.Errorf("the stream ends with %v, want UNAVAILABLE about draining", err)
				}
				times <- time.Since(start)
			}()
		}
		b.delta(b.dial("")) // sends no request
		synctest.Wait()
		drained := make(chan error, 1)
		go func() { drained <- b.server.Drain(t.Context(), time.Minute) }()
		synctest.Wait()
		if err := b.server.Healthy(); err == nil || !strings.Contains(err.Error(), "draining") {
			t.Errorf("Healthy = %v while the server drains, want an error about draining", err)
		}
		if err := end(b.open("a")); !strings.Contains(err.Error(), "draining") {
			t.Errorf("a new stream ends with %v, want an error about draining", err)
		}
		if err := <-drained; err != nil {
			t.Errorf("Drain: %v", err)
		}
		all := make([]time.Duration, 0, cap(times))
		for range cap(times) {
			all = append(all, <-times)
		}
		slices.Sort(all)
		if first, last := all[0], all[len(all)-1]; last-first < 40*time.Second || last > time.Minute {
			t.Errorf("the streams end after %v to %v, want them spread over a minute", first, last)
		}
		for i := range all[1:] {
			if d := all[i+1] - all[i]; d > 12*time.Second {
				t.Errorf("no stream ends for %v, want about six seconds", d)
			}
		}
	})
}

// A drain that is cancelled ends all streams at once.
func TestDrainIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		one, two := b.open("a"), b.open("a")
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if err := b.server.Drain(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Drain: %v, want the deadline", err)
		}
		for _, s := range []deltaStream{one, two} {
			if err := end(s); !strings.Contains(err.Error(), "draining") {
				t.Errorf("the stream ends with %v, want an error about draining", err)
			}
		}
		if d := time.Since(start); d > time.Second {
			t.Errorf("the streams end after %v, want a second", d)
		}
	})
}

// A source that is stale for too long ends the streams that use it, and only these. When it is live
// again, its resources are served again.
func TestMaxStaleness(t *testing.T) {
	for kind, state := range map[string]source.State{
		"stale": {Kind: source.Stale, Err: errors.New("no heartbeat")},
		"down":  {Kind: source.Down, Err: errors.New("no quorum")},
	} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, nil, serve.WithMaxStaleness(time.Minute))
				b.put(b.main, "a", "one")
				b.put(b.east, eastern, "one")
				one, both := b.open("a"), b.open("a", eastern)
				pass(time.Second)
				b.east.SetState(state)
				pass(59 * time.Second)
				if n := len(slices.Collect(b.server.Clients())); n != 2 || b.server.Healthy() != nil {
					t.Fatalf("%d streams and Healthy = %v before the limit, want 2 and nil", n, b.server.Healthy())
				}
				pass(2 * time.Second)
				if err := end(both); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), `authority "east" has been stale for 1m0s`) {
					t.Errorf("the stream of both sources ends with %v, want UNAVAILABLE about east", err)
				}
				if err := b.server.Healthy(); err == nil || !strings.Contains(err.Error(), "east") {
					t.Errorf("Healthy = %v, want an error about east", err)
				}
				if err := end(b.open(eastern)); !strings.Contains(err.Error(), "east") {
					t.Errorf("a new stream ends with %v, want an error about east", err)
				}
				if n := len(slices.Collect(b.server.Clients())); n != 1 {
					t.Errorf("%d streams, want that of the other source", n)
				}
				b.put(b.main, "a", "two")
				for range 2 {
					if r, err := one.Recv(); err != nil || len(r.GetResources()) != 1 {
						t.Errorf("the stream of the other source: %v, %v; want a", r, err)
					}
				}
				b.east.SetState(source.State{Kind: source.Live})
				pass(time.Second)
				if r, err := b.open(eastern).Recv(); err != nil || len(r.GetResources()) != 1 || b.server.Healthy() != nil {
					t.Errorf("after the return of the source: %v, %v, Healthy = %v; want the resource", r, err, b.server.Healthy())
				}
			})
		})
	}
}

// A name has an error if its source does not answer within the time of WithAnswerTimeout.
func TestAnswerTimeout(t *testing.T) {
	for _, test := range []struct {
		options []serve.Option
		after   time.Duration
	}{{nil, 10 * time.Second}, {[]serve.Option{serve.WithAnswerTimeout(time.Second)}, time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, nil, test.options...)
			b.put(b.main, "a", "one")
			b.east.SetState(source.State{}) // it has not been filled yet
			start, st := time.Now(), b.open("a", eastern)
			if r, err := st.Recv(); err != nil || len(r.GetResources()) != 1 || time.Since(start) != 0 {
				t.Fatalf("after %v: %v, %v; want a at once", time.Since(start), r, err)
			}
			r, err := st.Recv()
			if err != nil || len(r.GetResourceErrors()) != 1 || time.Since(start) != test.after {
				t.Fatalf("after %v: %v, %v; want an error after %v", time.Since(start), r, err, test.after)
			}
			if got := r.GetResourceErrors()[0]; got.GetResourceName().GetName() != eastern || codes.Code(got.GetErrorDetail().GetCode()) != codes.Unavailable {
				t.Errorf("the error is %v, want UNAVAILABLE of %s", got, eastern)
			}
		})
	}
}

// A source that recovers in time ends nothing.
func TestStalenessEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, serve.WithMaxStaleness(time.Minute))
		b.put(b.main, "a", "one")
		b.open("a")
		for range 5 {
			b.main.SetState(source.State{Kind: source.Stale, Err: errors.New("no heartbeat")})
			pass(40 * time.Second)
			b.main.SetState(source.State{Kind: source.Live})
			pass(time.Second)
		}
		if n := len(slices.Collect(b.server.Clients())); n != 1 {
			t.Errorf("%d streams, want 1", n)
		}
	})
}

// A server without resources refuses streams until its source has some.
func TestSourceThatNeverWorked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		b.main.SetState(source.State{Kind: source.Down, Err: errors.New("no quorum")})
		synctest.Wait()
		if err := end(b.open("a")); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "no quorum") {
			t.Errorf("the stream ends with %v, want UNAVAILABLE about the quorum", err)
		}
		b.put(b.main, "a", "one")
		b.main.SetState(source.State{Kind: source.Live})
		synctest.Wait()
		if r, err := b.open("a").Recv(); err != nil || len(r.GetResources()) != 1 {
			t.Errorf("after the source is live: %v, %v; want a", r, err)
		}
	})
}

// The health service follows the state of the server.
func TestHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, serve.WithMaxStaleness(time.Minute))
		health := grpc_health_v1.NewHealthClient(b.dial(""))
		check := func(when string, want grpc_health_v1.HealthCheckResponse_ServingStatus) {
			t.Helper()
			for _, service := range []string{"", "envoy.service.discovery.v3.AggregatedDiscoveryService"} {
				r, err := health.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: service})
				if err != nil || r.GetStatus() != want {
					t.Errorf("%s: service %q is %v, %v; want %v", when, service, r.GetStatus(), err, want)
				}
			}
		}
		synctest.Wait()
		check("at the start", grpc_health_v1.HealthCheckResponse_SERVING)
		b.put(b.east, eastern, "one")
		b.east.SetState(source.State{Kind: source.Stale})
		pass(61 * time.Second)
		check("with a stale source", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
		b.east.SetState(source.State{Kind: source.Live})
		pass(time.Second)
		check("with a live source", grpc_health_v1.HealthCheckResponse_SERVING)
		if err := b.server.Drain(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		check("while draining", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	})
}

// The state of a client has the versions that it accepted and rejected, and its lag.
func TestStateOfClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		b.put(b.main, "a", "one")
		s := b.open("a")
		receive := func() *discoveryv3.DeltaDiscoveryResponse {
			t.Helper()
			r, err := s.Recv()
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		answer := func(r *discoveryv3.DeltaDiscoveryResponse, reason string) {
			t.Helper()
			request := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, ResponseNonce: r.GetNonce()}
			if reason != "" {
				request.ErrorDetail = status.New(codes.InvalidArgument, reason).Proto()
			}
			if err := s.Send(request); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		state := func() serve.ClientType {
			t.Helper()
			all := slices.Collect(b.server.Clients())
			if len(all) != 1 || len(all[0].Types) != 1 || all[0].Node != "n" {
				t.Fatalf("clients = %+v, want one with one type", all)
			}
			return all[0].Types[0]
		}
		first := receive()
		pass(3 * time.Second)
		if x := state(); x.UpToDate || x.Sent != first.GetSystemVersionInfo() || x.Accepted != "" || x.Lag(time.Now()) != 3*time.Second {
			t.Errorf("before the answer: %+v, want a lag of 3s", x)
		}
		answer(first, "")
		if x := state(); !x.UpToDate || x.Accepted != first.GetSystemVersionInfo() || x.Lag(time.Now()) != 0 {
			t.Errorf("after the ACK: %+v, want no lag", x)
		}
		pass(time.Minute)
		b.put(b.main, "a", "two")
		second := receive()
		answer(second, "too large")
		pass(time.Second)
		b.put(b.main, "a", "three")
		third := receive()
		pass(time.Second)
		x := state()
		if x.UpToDate || x.Accepted != first.GetSystemVersionInfo() || x.Rejected != second.GetSystemVersionInfo() || x.Sent != third.GetSystemVersionInfo() {
			t.Errorf("after a NACK: %+v, want the versions of the responses", x)
		}
		if x.Reason != "too large" || x.Rejections != 1 || x.Responses != 3 || x.Lag(time.Now()) != 2*time.Second {
			t.Errorf("after a NACK: %+v, want its reason, 3 responses and a lag of 2s", x)
		}
		if got := fmt.Sprint(first.GetSystemVersionInfo() == second.GetSystemVersionInfo(), second.GetSystemVersionInfo() == third.GetSystemVersionInfo()); got != "false false" {
			t.Errorf("versions are equal: %s", got)
		}
	})
}
