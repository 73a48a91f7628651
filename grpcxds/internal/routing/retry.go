package routing

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/telemetry"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// maxRetries is the limit of retries: gRPC makes five attempts (A44).
const maxRetries = 4

// A retry is a retry policy. It is immutable.
type retry struct {
	codes uint64 // one bit for each code
	max   uint32
	pause route.BackOff
}

// newRetry reads a policy. It returns nil if calls are not retried.
func newRetry(p *route.RetryPolicy) *retry {
	if p == nil || len(p.Codes) == 0 {
		return nil
	}
	r := &retry{max: min(p.MaxRetries, maxRetries), pause: p.BackOff}
	for _, c := range p.Codes {
		r.codes |= 1 << c
	}
	return r
}

// tries are the attempts of one call.
type tries struct {
	*retry
	retries uint32 // the number of retries
	metrics *telemetry.Target
	method  string        // the label of the metrics
	made    atomic.Uint32 // as retries, but for any goroutine
	waited  atomic.Int64  // nanoseconds between attempts
	paused  uint32        // back-offs since the server's last pushback

	call    lbtree.Call // of all attempts
	gate    *gate
	entered atomic.Bool // the attempt is in the gate
	stopped bool        // gRPC retries calls now, so that there are no further attempts
}

// enter begins an attempt. It returns false if gRPC retries calls: then an attempt must be the last one.
func (t *tries) enter() bool {
	if t.stopped = t.stopped || !t.gate.enter(); t.stopped {
		return false
	}
	t.entered.Store(true)
	return true
}

// Picking implements [lbtree.Attempts]: the attempt leaves the gate, if it has not done so.
func (t *tries) Picking() {
	if t.entered.Swap(false) {
		t.gate.leave()
	}
}

// wants reports whether to retry after an attempt that ended with err before a header. Calls that
// load balancing drops are not retried (A32).
func (t *tries) wants(err error) bool {
	var d interface{ Dropped() bool }
	if errors.As(err, &d) && d.Dropped() || t.stopped {
		return false
	}
	return err != nil && t.retries < t.max && t.codes>>status.Code(err)&1 == 1
}

// again waits until the next attempt may start, and returns nil. Otherwise it returns the result of
// the call: err, or the error of a context that ended meanwhile.
func (t *tries) again(ctx context.Context, err error, trailer metadata.MD) error {
	if !t.wants(err) {
		return err
	}
	pause, ok := t.pushback(trailer)
	if !ok {
		return err
	}
	began := time.Now()
	defer func() { t.waited.Add(int64(time.Since(began))) }()
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	case <-timer.C:
	}
	if !t.enter() {
		return err
	}
	t.retries++
	t.made.Add(1)
	return nil
}

// methodLabel returns the label of a method in metrics. As in gRFC A66, generated code shows by an option that
// the method is one of a bounded number.
func methodLabel(method string, opts []grpc.CallOption) string {
	for _, o := range opts {
		if _, ok := o.(grpc.StaticMethodCallOption); ok {
			return strings.TrimPrefix(method, "/")
		}
	}
	return "other"
}

// record records the metrics of a call that has ended.
func (t *tries) record() {
	if n := t.made.Load(); n > 0 {
		t.metrics.Retried(t.method, int(n), time.Duration(t.waited.Load()))
	}
}

// pushback returns the time to wait: the server's pushback if it sent one, or a back-off with
// jitter (gRFC A6). It returns false if the server forbids another attempt.
func (t *tries) pushback(trailer metadata.MD) (pause time.Duration, ok bool) {
	values := trailer.Get("grpc-retry-pushback-ms")
	if len(values) == 0 {
		pause = t.pause.Max
		if t.pause.Base <= pause>>t.paused { // otherwise doubling might overflow
			pause = t.pause.Base << t.paused
		}
		t.paused++
		pause = min(pause, math.MaxInt64/2) // so that the jitter cannot overflow
		return time.Duration(float64(pause) * (0.8 + 0.4*rand.Float64())), true
	}
	ms, err := strconv.ParseInt(values[0], 10, 32)
	if len(values) > 1 || err != nil || ms < 0 {
		return 0, false
	}
	t.paused = 0
	return time.Duration(ms) * time.Millisecond, true
}

// attempt returns the context of the next attempt. It tells the server the number of earlier
// attempts.
func (t *tries) attempt(ctx context.Context) context.Context {
	if t.retries == 0 {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "grpc-previous-rpc-attempts", strconv.FormatUint(uint64(t.retries), 10))
}

// unary makes a call until an attempt succeeds, receives a header, or is the last.
func unary(t *tries, ctx context.Context, opts []grpc.CallOption, invoke func(context.Context, []grpc.CallOption) error) error { //nolint:revive // the attempts come first
	opts, finish := splitFinish(opts)
	var header, trailer metadata.MD
	opts = append(opts, grpc.Header(&header), grpc.Trailer(&trailer))
	t.enter()
	for {
		err := invoke(t.attempt(ctx), opts)
		t.Picking()
		if err != nil && header == nil {
			if err = t.again(ctx, err, trailer); err == nil {
				trailer = nil // an attempt that reaches no server does not set it
				continue
			}
		}
		finish(err)
		return err
	}
}

// splitFinish separates the options for the whole call from those for each attempt.
func splitFinish(opts []grpc.CallOption) (others []grpc.CallOption, finish func(error)) {
	var ends []func(error)
	others = slices.Clone(opts)
	others = slices.DeleteFunc(others, func(o grpc.CallOption) bool {
		f, ok := o.(grpc.OnFinishCallOption)
		if ok {
			ends = append(ends, f.OnFinish)
		}
		return ok
	})
	return others, func(err error) {
		for _, end := range ends {
			end(err)
		}
	}
}
