package httpxds

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

// errTimeout is the cause of the end of a request by a time limit of its route.
var errTimeout = errors.New("the time limit of the route has passed")

// withLimit applies the time limit of the route. It includes retries and the response. As in Envoy, it starts again at the end of
// the request: it does not limit how long a body is sent. Upgraded connections have none.
func (x *exchange) withLimit(ctx context.Context, r *http.Request) (context.Context, *http.Request) {
	d := x.plan.Timeout
	if isUpgrade(r) {
		return ctx, r
	}
	atOnce := isSentAtOnce(r)
	if !atOnce && isInMemory(r.Body) && x.hasLimits() {
		ctx = x.upload.traced(ctx)
		x.limited = *x.edit(r).WithContext(ctx)
		r = &x.limited
	}
	if d == 0 && x.sent == nil {
		return ctx, r
	}
	ctx, x.cancel = context.WithCancelCause(ctx)
	x.limited = *x.edit(r).WithContext(ctx) // a part, so that the copy needs no memory of its own
	if d == 0 {                             // the context ends a body that does not end by itself
		return ctx, &x.limited
	}
	x.limit = x.transport.limits.take(x.cancel)
	if x.atOnce = atOnce; !atOnce {
		x.upload.route = x.limit
	}
	x.limit.start(d)
	return ctx, &x.limited
}

// hasLimits reports whether the route limits the time of requests or of their attempts.
func (x *exchange) hasLimits() bool {
	return x.plan.Timeout > 0 || x.plan.Retry != nil && x.plan.Retry.PerTry > 0
}

// stop ends the time limits of the request.
func (x *exchange) stop() {
	if x.limit != nil {
		x.upload.forget() // first: net/http may read the body later, and another request may have the limit by then
		x.transport.limits.put(x.limit)
		x.limit = nil
	}
	x.cancelAll()
}

// cancelAll cancels the contexts of the request.
func (x *exchange) cancelAll() {
	if x.cancelTry != nil {
		x.cancelTry(nil)
	}
	if x.cancel != nil {
		x.cancel(nil)
	}
}

// A timeLimit cancels a request after a time. It costs less than context.WithTimeout because requests share timers.
type timeLimit struct {
	cause error

	mu     sync.Mutex
	timer  *time.Timer // nil: not started
	length time.Duration
	cancel context.CancelCauseFunc
	over   bool // the request has ended
	passed bool
}

// start starts the time.
func (l *timeLimit) start(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.length = d; l.timer == nil {
		l.timer = time.AfterFunc(d, l.expire)
		return
	}
	l.timer.Reset(d)
}

// hold stops the time until again.
func (l *timeLimit) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer.Stop()
}

// again starts the whole time again, unless the request has ended.
func (l *timeLimit) again() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		l.timer.Reset(l.length)
	}
}

// expire cancels the request with the lock, so that its context has the cause when end reports that the time has passed.
func (l *timeLimit) expire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.passed = !l.over
	l.cancel(l.cause)
}

// end stops the time. It returns false if the time has passed.
func (l *timeLimit) end() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over, l.cancel = true, ended
	l.timer.Stop()
	return !l.passed
}

// retire is end. It returns false if the function of the timer may still run.
func (l *timeLimit) retire() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over, l.cancel = true, ended
	return l.timer.Stop()
}

// ended is the cancel function of a time limit whose request has ended.
func ended(error) {}

// timeLimits keeps the time limits that no request uses. Only those whose timer was stopped can be used again, because
// expire does not run for them any more.
type timeLimits struct {
	mu     sync.Mutex
	few    []*timeLimit // at most maxFewLimits; they survive garbage collections
	unused sync.Pool    // the others, and all while few is locked, so that no request waits
}

// maxFewLimits is the number of time limits that a Transport keeps across garbage collections.
const maxFewLimits = 128

func (p *timeLimits) take(cancel context.CancelCauseFunc) *timeLimit {
	l := p.kept()
	if l == nil {
		return &timeLimit{cancel: cancel, cause: errTimeout}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancel, l.over, l.passed = cancel, false, false
	return l
}

// kept returns a time limit that no request uses, or nil.
func (p *timeLimits) kept() *timeLimit {
	if p.mu.TryLock() {
		defer p.mu.Unlock()
		if n := len(p.few); n > 0 {
			l := p.few[n-1]
			p.few = p.few[:n-1]
			return l
		}
	}
	l, _ := p.unused.Get().(*timeLimit) // nil if there is none
	return l
}

func (p *timeLimits) put(l *timeLimit) {
	if !l.retire() {
		return
	}
	if p.mu.TryLock() {
		defer p.mu.Unlock()
		if len(p.few) < maxFewLimits {
			p.few = append(p.few, l)
			return
		}
	}
	p.unused.Put(l)
}
