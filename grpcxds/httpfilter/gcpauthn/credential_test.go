package gcpauthn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A fakeSource returns numbered tokens that are valid for lifetime, after delay.
type fakeSource struct {
	mu       sync.Mutex
	asked    []string
	lifetime time.Duration
	delay    time.Duration
	err      error
}

func (s *fakeSource) fetch(ctx context.Context, audience string) (Token, error) {
	s.mu.Lock()
	s.asked = append(s.asked, audience)
	n, err, lifetime, delay := len(s.asked), s.err, s.lifetime, s.delay
	s.mu.Unlock()
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return Token{}, ctx.Err()
	case <-timer.C:
	}
	return Token{fmt.Sprintf("%s#%d", audience, n), time.Now().Add(lifetime)}, err
}

func (s *fakeSource) fetches() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

func (s *fakeSource) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *fakeSource) live(lifetime time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lifetime = lifetime
}

// in runs a test with a cache, in fake time.
func in(t *testing.T, s *fakeSource, test func(t *testing.T, c *cache)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := newCache(s.fetch)
		defer c.close()
		test(t, c)
	})
}

// header returns the header of a call, or its error.
func header(ctx context.Context, c *credential) string {
	md, err := c.GetRequestMetadata(ctx)
	if err != nil {
		return status.Code(err).String()
	}
	return md["authorization"]
}

func advance(d time.Duration) {
	<-time.NewTimer(d).C
	synctest.Wait()
}

// Calls that wait share one fetch. A token is fetched again in the last minute of its use, while calls use the old one,
// and calls wait again once it is over.
func TestToken(t *testing.T) {
	s := &fakeSource{lifetime: time.Hour, delay: time.Second}
	in(t, s, func(t *testing.T, c *cache) {
		x := c.get("a")
		want := func(step, want string, fetches int, waits time.Duration) {
			t.Helper()
			start := time.Now()
			if got := header(t.Context(), x); got != want || time.Since(start) != waits {
				t.Errorf("%s: the header is %q after %v; want %q after %v", step, got, time.Since(start), want, waits)
			}
			synctest.Wait()
			if got := s.fetches(); got != fetches {
				t.Errorf("%s: %d fetches; want %d", step, got, fetches)
			}
		}
		got := make(chan string, 10)
		for range 10 {
			go func() { got <- header(t.Context(), x) }()
		}
		for range 10 {
			if h := <-got; h != "Bearer a#1" {
				t.Errorf("a call that waits has the header %q; want the token", h)
			}
		}
		want("cached", "Bearer a#1", 1, 0)
		advance(time.Hour - skew - refresh - time.Second)
		want("before the last minute", "Bearer a#1", 1, 0)
		advance(time.Second)
		want("in the last minute", "Bearer a#1", 2, 0)
		want("while the next is fetched", "Bearer a#1", 2, 0)
		advance(time.Second)
		want("fetched", "Bearer a#2", 2, 0)
		advance(time.Hour - skew - time.Second)
		if s.fetches() != 2 {
			t.Errorf("%d fetches without a call; want 2", s.fetches())
		}
		advance(time.Second)
		want("expired", "Bearer a#3", 3, time.Second)
	})
}

// After an error, calls fail with its status until the back-off is over. The next call, and nothing else, tries again.
func TestBackoff(t *testing.T) {
	s := &fakeSource{lifetime: time.Hour, err: errors.New("no server")}
	in(t, s, func(t *testing.T, c *cache) {
		x := c.get("a")
		nominal := baseDelay
		for n := 1; n <= 14; n++ {
			if got := header(t.Context(), x); got != "Unavailable" || s.fetches() != n {
				t.Fatalf("attempt %d: %s after %d fetches; want UNAVAILABLE after %d", n, got, s.fetches(), n)
			}
			low, high := time.Duration(0.8*float64(nominal)), time.Duration(1.2*float64(nominal))
			advance(low - 1)
			if got := header(t.Context(), x); got != "Unavailable" || s.fetches() != n {
				t.Fatalf("attempt %d: %s after %d fetches, %v after the error; want no other fetch", n, got, s.fetches(), low)
			}
			advance(high - low + 2)
			nominal = min(time.Duration(float64(nominal)*backoffFactor), maxDelay)
		}
		if n := s.fetches(); n != 14 {
			t.Errorf("%d fetches; want 14: none without a call", n)
		}
		s.fail(nil)
		if got := header(t.Context(), x); got != "Bearer a#15" {
			t.Errorf("after the errors: %s; want a token", got)
		}
		advance(time.Hour)
		s.fail(status.Error(codes.Unauthenticated, "unknown account"))
		if got := header(t.Context(), x); got != "Unauthenticated" {
			t.Errorf("the account is unknown: %s; want UNAUTHENTICATED", got)
		}
		advance(2 * baseDelay)
		s.fail(status.Error(codes.PermissionDenied, "no"))
		if got := header(t.Context(), x); got != "Unavailable" || s.fetches() != 17 {
			t.Errorf("another status: %s after %d fetches; want UNAVAILABLE after 17: success has reset the back-off", got, s.fetches())
		}
	})
}

// A token whose refresh fails is used until it is over.
func TestRefreshFails(t *testing.T) {
	s := &fakeSource{lifetime: time.Hour}
	in(t, s, func(t *testing.T, c *cache) {
		x := c.get("a")
		_ = header(t.Context(), x)
		advance(time.Hour - skew - refresh)
		s.fail(errors.New("no server"))
		for range 3 {
			if got := header(t.Context(), x); got != "Bearer a#1" {
				t.Errorf("the refresh fails: %s; want the old token", got)
			}
			synctest.Wait()
		}
		if s.fetches() != 2 {
			t.Errorf("%d fetches; want 2: the second one backs off", s.fetches())
		}
	})
}

// A token without an expiry is an error.
func TestTokenWithoutExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCache(func(context.Context, string) (Token, error) { return Token{Value: "x"}, nil })
		defer c.close()
		if got := header(t.Context(), c.get("a")); got != "Unauthenticated" {
			t.Errorf("a token without an expiry: %s; want UNAUTHENTICATED", got)
		}
	})
}

// A token that is over when it arrives, by the clock of the client, is an error that backs off. A token that ends while it is
// fetched does not replace one in use.
func TestExpiredTokens(t *testing.T) {
	for _, lifetime := range []time.Duration{-time.Hour, 0, skew} {
		s := &fakeSource{lifetime: lifetime}
		in(t, s, func(t *testing.T, c *cache) {
			x := c.get("a")
			for range 100 {
				if got := header(t.Context(), x); got != "Unauthenticated" || s.fetches() != 1 {
					t.Fatalf("a token of %v: %s after %d fetches; want UNAUTHENTICATED after 1", lifetime, got, s.fetches())
				}
			}
			advance(2 * baseDelay)
			s.live(time.Hour)
			if got := header(t.Context(), x); got != "Bearer a#2" {
				t.Errorf("after the back-off: %s; want the next token", got)
			}
			advance(time.Hour - skew - refresh)
			s.live(lifetime)
			for range 3 {
				if got := header(t.Context(), x); got != "Bearer a#2" || s.fetches() > 3 {
					t.Errorf("the next token is over: %s after %d fetches; want the old one after 3", got, s.fetches())
				}
				synctest.Wait()
			}
		})
	}
}

// A call stops waiting when it ends, and the fetch goes on. Closing the cache ends the fetch.
func TestEndOfWaiting(t *testing.T) {
	s := &fakeSource{lifetime: time.Hour, delay: time.Hour}
	in(t, s, func(t *testing.T, c *cache) {
		x := c.get("a")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if got := header(ctx, x); got != "DeadlineExceeded" {
			t.Errorf("the call ends with %s; want DEADLINE_EXCEEDED", got)
		}
		start := time.Now()
		if got := header(t.Context(), x); got != "Unavailable" || time.Since(start) != fetchTimeout-time.Second {
			t.Errorf("the fetch ends with %s after %v; want UNAVAILABLE at the limit of %v", got, time.Since(start), fetchTimeout)
		}
		advance(2 * baseDelay)
		done := make(chan string)
		go func() { done <- header(t.Context(), x) }()
		synctest.Wait()
		c.close()
		if got := <-done; got != "Unavailable" {
			t.Errorf("the cache is closed: %s; want UNAVAILABLE", got)
		}
	})
}

// The cache keeps the audiences that were used last. Its limit may change, and has a maximum.
func TestCache(t *testing.T) {
	c := newCache(nil)
	defer c.close()
	names := func() (names []string) {
		for e := c.byUsage.Front(); e != nil; e = e.Next() {
			names = append(names, e.Value.(*credential).audience)
		}
		return names
	}
	c.resize(3)
	a := c.get("a")
	for _, name := range []string{"b", "c", "a", "d"} {
		c.get(name)
	}
	if got := names(); !slices.Equal(got, []string{"d", "a", "c"}) || c.get("a") != a || len(c.byName) != 3 {
		t.Errorf("the cache has %q; want d, a, c", got)
	}
	c.resize(1)
	if got := names(); !slices.Equal(got, []string{"a"}) || c.get("a") != a {
		t.Errorf("after a smaller limit, the cache has %q; want a", got)
	}
	c.resize(1 << 63)
	for i := range maxCache + 10 {
		c.get(fmt.Sprint(i))
	}
	if n := len(names()); n != maxCache {
		t.Errorf("the cache has %d audiences; want %d", n, maxCache)
	}
}
