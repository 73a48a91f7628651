package httpxds

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/xdsforge/xdsforge/framework/matcher"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// wants reports whether the policy of the route retries a request after an attempt, which has a response or an error.
func (x *exchange) wants(v *view, resp *http.Response, err error) bool {
	p := x.plan.Retry
	if p == nil || x.retries >= p.Max {
		return false
	}
	if len(p.RequestHeaders) > 0 && !matchesOne(p.RequestHeaders, v.Values) {
		return false
	}
	if err != nil {
		return wantsError(p, err)
	}
	return x.wantsResponse(p, v, resp)
}

// wantsError reports whether a policy retries after an attempt without a response.
func wantsError(p *route.HTTPRetry, err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	const failures = route.Retry5xx | route.RetryGatewayError | route.RetryReset
	switch e.Reason {
	case Connect:
		return p.On&(failures|route.RetryConnectFailure|route.RetryResetBeforeRequest) != 0
	case Reset:
		return p.On&failures != 0 || p.On&route.RetryRefusedStream != 0 && refused(e.Err)
	case Timeout: // of the attempt
		return p.On&failures != 0
	default:
		return false
	}
}

// wantsResponse reports whether a policy retries after a response.
func (x *exchange) wantsResponse(p *route.HTTPRetry, v *view, resp *http.Response) bool {
	status := resp.StatusCode
	if resp.Header["X-Envoy-Ratelimited"] != nil {
		return p.On&route.RetryEnvoyRateLimited != 0
	}
	on := func(c route.RetryCondition) bool { return p.On&c != 0 }
	switch {
	case on(route.Retry5xx) && status >= 500,
		on(route.RetryGatewayError) && status >= 502 && status <= 504,
		on(route.RetryRetriable4xx) && status == http.StatusConflict,
		on(route.RetryStatusCodes) && slices.Contains(p.Statuses, uint32(status)), //nolint:gosec // not negative
		on(route.RetryHeaders) && matchesOne(p.Headers, v.valuesOf(resp)):
		return true
	}
	return p.GRPC != 0 && p.GRPC>>x.code(resp)&1 == 1
}

func matchesOne(list []matcher.Header, values func(name string) []string) bool {
	return slices.ContainsFunc(list, func(m matcher.Header) bool { return route.MatchHTTPHeader(&m, values) })
}

// code returns the code of gRPC of a response: that of its headers, or that of a unary response of Connect. It is 0 if there
// is none.
func (x *exchange) code(resp *http.Response) uint32 {
	if s := resp.Header.Get("Grpc-Status"); s != "" {
		n, err := strconv.ParseUint(s, 10, 5)
		if err != nil {
			return 0
		}
		return uint32(n)
	}
	if resp.StatusCode == http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		return 0
	}
	return x.connectCode()
}

// maxConnectError is the limit of an error of Connect that is read to find its code.
const maxConnectError = 4096

// connectCode reads the code of a Connect error, and restores the body.
func (x *exchange) connectCode() uint32 {
	start, err := io.ReadAll(io.LimitReader(x.body, maxConnectError))
	rest := io.Reader(x.body)
	if err != nil {
		rest = failing{err}
	}
	x.body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(start), rest), x.body}
	var e struct {
		Code string `json:"code"`
	}
	if json.Unmarshal(start, &e) != nil {
		return 0
	}
	return map[string]uint32{
		"canceled": 1, "deadline_exceeded": 4, "resource_exhausted": 8, "internal": 13, "unavailable": 14,
	}[e.Code]
}

// failing is a reader with an error.
type failing struct{ err error }

// Read implements [io.Reader].
func (f failing) Read([]byte) (int, error) { return 0, f.err }

// pause waits before the next attempt, with full jitter.
func (x *exchange) pause(ctx context.Context) error {
	b := x.plan.Retry.BackOff
	most := b.Max
	if n := min(x.retries, 62); b.Base <= most>>n { // otherwise doubling might overflow
		most = b.Base << n
	}
	began := time.Now()
	defer func() { x.waited += time.Since(began) }()
	timer := time.NewTimer(rand.N(most + 1))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
