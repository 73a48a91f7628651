package gcpauthn

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/internal/printable"
)

const (
	skew         = 30 * time.Second // a token is not used for so long before its expiry
	refresh      = time.Minute      // a token is fetched again so long before the end of its use
	fetchTimeout = 30 * time.Second
	// The back-off of gRPC's connections.
	baseDelay, maxDelay   = time.Second, 120 * time.Second
	backoffFactor, jitter = 1.6, 0.2
)

// A credential has the token of one audience.
type credential struct {
	cache    *cache
	audience string

	mu      sync.Mutex // guards the fields below
	value   string
	until   time.Time // the token is used before
	pending *fetch    // nil: none
	failed  error     // the status of the last fetch, if it failed
	delay   time.Duration
	retryAt time.Time // no fetch starts before
}

var _ credentials.PerRPCCredentials = (*credential)(nil)

// A fetch is one call of the source.
type fetch struct {
	done  chan struct{} // closed when value and err are set
	value string
	err   error
}

// GetRequestMetadata implements [credentials.PerRPCCredentials]. It waits for a token if none is cached.
func (c *credential) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	value, err := c.token(ctx)
	if err != nil {
		return nil, err
	}
	return map[string]string{"authorization": "Bearer " + value}, nil
}

// RequireTransportSecurity implements [credentials.PerRPCCredentials].
func (*credential) RequireTransportSecurity() bool { return true }

// token returns the token for a call. The error is a gRPC status.
func (c *credential) token(ctx context.Context) (string, error) {
	now := time.Now()
	c.mu.Lock()
	valid := now.Before(c.until)
	if c.pending == nil && !now.Before(c.until.Add(-refresh)) && !now.Before(c.retryAt) {
		c.fetch() //nolint:contextcheck // other calls wait for it, too
	}
	value, pending, failed := c.value, c.pending, c.failed
	c.mu.Unlock()
	switch {
	case valid:
		return value, nil
	case pending == nil:
		return "", failed // it backs off
	}
	select {
	case <-pending.done:
		return pending.value, pending.err
	case <-ctx.Done():
		return "", status.FromContextError(ctx.Err()).Err()
	}
}

// fetch fetches a token in the background. mu is held.
func (c *credential) fetch() {
	f := &fetch{done: make(chan struct{})}
	c.pending = f
	c.cache.fetches.Go(func() {
		ctx, cancel := context.WithTimeout(c.cache.ctx, fetchTimeout)
		defer cancel()
		t, err := c.cache.source(ctx, c.audience)
		if err == nil && (t.Value == "" || t.Expiry.IsZero()) {
			err = status.Error(codes.Unauthenticated, "the token has no value or no expiry")
		}
		if left := time.Until(t.Expiry); err == nil && left <= skew {
			err = status.Errorf(codes.Unauthenticated, "the token has %v left; must have more than %v: check the clocks", left, skew)
		}
		c.fetched(f, t, err)
	})
}

// fetched applies the result of a fetch to the calls that wait and to later ones.
func (c *credential) fetched(f *fetch, t Token, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = nil
	if err != nil {
		c.delay = min(max(baseDelay, time.Duration(float64(c.delay)*backoffFactor)), maxDelay)
		c.retryAt = time.Now().Add(time.Duration(float64(c.delay) * (1 - jitter + 2*jitter*rand.Float64())))
		code := codes.Unavailable
		if status.Code(err) == codes.Unauthenticated {
			code = codes.Unauthenticated
		}
		c.failed = status.Errorf(code, "gcpauthn: fetching the token of audience %s: %s", label(c.audience), printable.Error(err))
		f.err = c.failed
	} else {
		c.value, c.until = t.Value, t.Expiry.Add(-skew)
		c.delay, c.retryAt, c.failed = 0, time.Time{}, nil
		f.value = t.Value
	}
	close(f.done)
}
