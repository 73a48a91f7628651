package builtin

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/xdsforge/xdsforge/httpxds/httpfilter"
	"github.com/xdsforge/xdsforge/internal/extensions/headerchange"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/localratelimit"
)

func rateLimit() httpfilter.Filter {
	return httpfilter.Filter{
		HTTPFilter: localratelimit.Filter(),
		NewServer: func(httpfilter.Host) (httpfilter.ServerInstance, error) {
			return &limits{buckets: make(map[string]*bucket)}, nil
		},
	}
}

// limits has the buckets of a filter. They survive updates of its configuration.
type limits struct {
	mu      sync.Mutex
	buckets map[string]*bucket // by scope
}

// Close implements [httpfilter.ServerInstance]. All buckets are released by then.
func (*limits) Close() {}

// Interceptor implements [httpfilter.ServerInstance].
func (l *limits) Interceptor(u httpfilter.Use) (httpfilter.ServerInterceptor, error) {
	source := u.Config
	if u.Override != nil {
		source = u.Override
	}
	c, err := read[localratelimit.Config](source)
	if err != nil || c.Bucket == nil || c.Enabled == 0 {
		return nil, err
	}
	return &limit{config: c, limits: l, scope: u.Scope, bucket: l.acquire(u.Scope, *c.Bucket)}, nil
}

// acquire returns the bucket of a scope. A new bucket is full. A bucket that exists keeps its tokens, up to the new limit.
func (l *limits) acquire(scope string, c localratelimit.Bucket) *bucket {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buckets[scope]
	if b == nil {
		b = &bucket{tokens: c.Max, filled: time.Now()}
		l.buckets[scope] = b
	}
	b.uses++
	b.set(c)
	return b
}

func (l *limits) release(scope string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b := l.buckets[scope]; b != nil {
		b.uses--
		if b.uses == 0 {
			delete(l.buckets, scope)
		}
	}
}

// A bucket has the tokens of a limit.
type bucket struct {
	uses int // guarded by limits.mu

	mu     sync.Mutex
	config localratelimit.Bucket
	tokens uint32
	filled time.Time // when the last tokens were added
}

func (b *bucket) set(c localratelimit.Bucket) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.config, b.tokens = c, min(b.tokens, c.Max)
}

// take takes a token, or returns the time until the next one.
func (b *bucket) take(now time.Time) (wait time.Duration, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := now.Sub(b.filled) / b.config.Interval; n > 0 {
		b.filled = b.filled.Add(n * b.config.Interval)
		b.tokens = uint32(min(uint64(b.tokens)+min(uint64(n), 1<<32)*uint64(b.config.PerFill), uint64(b.config.Max))) //nolint:gosec // Max is a uint32
	}
	if b.tokens == 0 {
		return b.filled.Add(b.config.Interval).Sub(now), false
	}
	b.tokens--
	return 0, true
}

// A limit is the interceptor of one configuration.
type limit struct {
	config localratelimit.Config
	limits *limits
	scope  string
	bucket *bucket
}

// Close implements [io.Closer].
func (l *limit) Close() error {
	l.limits.release(l.scope)
	return nil
}

// Wrap implements [httpfilter.ServerInterceptor].
func (l *limit) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if drawn(l.config.Enabled) {
			if wait, ok := l.bucket.take(time.Now()); !ok && drawn(l.config.Enforced) {
				l.reject(w, wait)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

func (l *limit) reject(w http.ResponseWriter, wait time.Duration) {
	if l.config.RetryAfter {
		w.Header().Set("Retry-After", strconv.FormatInt(int64((wait+time.Second-1)/time.Second), 10))
	}
	headerchange.Apply(w.Header(), l.config.Headers)
	http.Error(w, "local_rate_limited", l.config.Status)
}
