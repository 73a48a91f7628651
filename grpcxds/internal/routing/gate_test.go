package routing

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/plugins/route"
)

// Closing the gate stops new attempts at once, and waits for those inside.
func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := new(gate)
		for range 2 {
			if !g.enter() {
				t.Fatal("an attempt cannot enter an open gate")
			}
		}
		closed := make(chan bool, 1)
		go func() { closed <- g.close(time.Second) }()
		synctest.Wait()
		if g.enter() {
			t.Error("an attempt enters a gate that closes")
		}
		g.leave()
		synctest.Wait()
		select {
		case <-closed:
			t.Error("the gate is closed, with an attempt inside")
		default:
		}
		g.leave()
		if !<-closed || g.enter() {
			t.Error("the empty gate is not closed")
		}
		if !g.close(time.Second) {
			t.Error("a closed gate does not close again")
		}
		g.open()
		if !g.enter() {
			t.Error("an attempt cannot enter the gate that opened again")
		}
		start := time.Now()
		if g.close(time.Second) || time.Since(start) != time.Second {
			t.Errorf("the gate closes after %v with an attempt inside; want it to give up after 1s", time.Since(start))
		}
		if !g.enter() {
			t.Error("the gate did not open again")
		}
		g.leave()
		g.leave()
		if !g.close(0) {
			t.Error("the empty gate does not close")
		}
	})
}

// When gRPC begins to retry, a call of this package makes no further attempts. Its attempt leaves the gate when a picker
// sees it, or at its end.
func TestRetriesStopAtTheGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := new(gate)
		tr := &tries{gate: g, retry: &retry{codes: 1 << codes.Unavailable, max: 4, pause: route.BackOff{Base: time.Second, Max: time.Second}}}
		attempts := 0
		err := unary(tr, t.Context(), nil, func(context.Context, []grpc.CallOption) error {
			attempts++
			if attempts == 2 {
				if g.close(time.Second) {
					t.Error("the gate is closed before a picker sees the attempt")
				}
				tr.Picking()
				tr.Picking()
				if !g.close(time.Second) {
					t.Error("the gate is open after a picker has seen the attempt")
				}
			}
			return status.Error(codes.Unavailable, "not now")
		})
		if status.Code(err) != codes.Unavailable || attempts != 2 {
			t.Errorf("%v after %d attempts; want UNAVAILABLE after 2", err, attempts)
		}
		g.open()
		tr.stopped, tr.retries = false, 0
		_ = unary(tr, t.Context(), nil, func(context.Context, []grpc.CallOption) error { return status.Error(codes.Internal, "") })
		if !g.close(0) {
			t.Error("an attempt that has ended is in the gate")
		}
	})
}

// The method config has the policy with its number of attempts and its exact times.
func TestMethodConfig(t *testing.T) {
	r := newRetry(&route.RetryPolicy{Codes: []uint32{14, 1}, MaxRetries: 2, BackOff: route.BackOff{Base: time.Millisecond + 1, Max: 3 * time.Hour}})
	const want = `{"name":[{}],"retryPolicy":{"maxAttempts":3,"initialBackoff":"0.001000001s","maxBackoff":"10800.000000000s","backoffMultiplier":2,"retryableStatusCodes":[1,14]}}`
	if got := r.methodConfig(); got != want {
		t.Errorf("%s; want %s", got, want)
	}
}
