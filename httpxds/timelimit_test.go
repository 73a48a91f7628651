package httpxds

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/plugins/route"
)

// TestTimeLimitsAreUsedAgain expects a time limit to cancel the request that has it, and no earlier one.
func TestTimeLimitsAreUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all timeLimits
		begin := func() (*timeLimit, context.Context) {
			ctx, cancel := context.WithCancelCause(t.Context())
			return all.take(cancel), ctx
		}
		first, ctx := begin()
		first.start(time.Second)
		<-time.NewTimer(time.Second / 2).C
		all.put(first)
		<-time.NewTimer(time.Second).C
		if ctx.Err() != nil {
			t.Errorf("a request that had ended was canceled by its time limit: %v", context.Cause(ctx))
		}
		second, ctx := begin()
		second.start(time.Second)
		<-time.NewTimer(time.Second / 2).C
		synctest.Wait()
		if ctx.Err() != nil {
			t.Errorf("a request was canceled before its time limit: %v", context.Cause(ctx))
		}
		<-time.NewTimer(time.Second).C
		synctest.Wait()
		if context.Cause(ctx) != errTimeout { //nolint:errorlint // the cause itself
			t.Errorf("the cause of the end is %v; want the time limit", context.Cause(ctx))
		}
		all.put(second)
		if third, _ := begin(); third == second {
			t.Error("a time limit that has passed is used again; want a new one")
		}
	})
}

// TestLateResponse expects the end of an attempt to report that its time has passed.
func TestLateResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &exchange{plan: &plan{HTTPRoute: &route.HTTPRoute{Retry: &route.HTTPRetry{PerTry: time.Second}}}}
		r, stop := x.perTry(t.Context(), new(http.Request))
		<-r.Context().Done()
		if stop() || !errors.Is(context.Cause(r.Context()), errPerTry) {
			t.Errorf("the attempt ends by %v, and its response counts; want that it does not", context.Cause(r.Context()))
		}
		for range 1000 { // the response comes at the same time as the function of the timer runs
			r, stop := x.perTry(t.Context(), new(http.Request))
			<-time.NewTimer(time.Second).C
			if !stop() && !errors.Is(context.Cause(r.Context()), errPerTry) {
				t.Fatalf("the time has passed, but the attempt ends by %v", context.Cause(r.Context()))
			}
			x.cancel = nil
		}
		if _, stop = x.perTry(t.Context(), new(http.Request)); !stop() {
			t.Error("a response in time does not count")
		}
		x.cancelTry(nil)
	})
}

// TestTimeLimitOfAStream expects a request body that ends after the response not to start the time again.
func TestTimeLimitOfAStream(t *testing.T) {
	l := &timeLimit{cancel: func(error) { t.Error("a request that had ended was canceled") }}
	l.start(time.Hour)
	if !l.end() {
		t.Error("a time limit of an hour has passed")
	}
	l.again()
	if l.timer.Stop() {
		t.Error("the time starts after the request has ended")
	}
}

// TestLateReadOfABody expects net/http's read of a body after its request to have no effect on the next request with the time limit.
func TestLateReadOfABody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &exchange{transport: new(Transport)}
		_, x.cancel = context.WithCancelCause(t.Context())
		x.limit = x.transport.limits.take(x.cancel)
		x.upload.route = x.limit
		first := x.limit
		first.start(time.Second)
		x.stop()
		ctx, cancel := context.WithCancelCause(t.Context())
		second := x.transport.limits.take(cancel)
		if second != first {
			t.Fatal("the time limit of a request with a body is not used again")
		}
		second.start(time.Second)
		x.upload.begin()
		<-time.NewTimer(2 * time.Second).C
		synctest.Wait()
		if context.Cause(ctx) != errTimeout { //nolint:errorlint // the cause itself
			t.Errorf("the second request ends by %v; want its time limit", context.Cause(ctx))
		}
		x.transport.limits.put(second)
	})
}
