package builtin

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/xdsforge/xdsforge/httpxds/httpfilter"
	"github.com/xdsforge/xdsforge/httpxds/internal/reply"
	"github.com/xdsforge/xdsforge/internal/extensions/faults"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/fault"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// faultFilter returns the fault injection filter of clients. It delays requests and responds in place of endpoints, as Envoy
// does.
func faultFilter() httpfilter.Filter { return newFault(rand.Uint32N) }

// newFault makes the filter. random returns a random number below n.
func newFault(random func(n uint32) uint32) httpfilter.Filter {
	return httpfilter.Filter{
		HTTPFilter: fault.Filter(),
		NewClient: func(httpfilter.Host) (httpfilter.ClientInstance, error) {
			return &instance{faults.Faults{Random: random}}, nil
		},
	}
}

// An instance has the active faults of a client. Their number survives updates.
type instance struct{ faults faults.Faults }

// Close implements [httpfilter.ClientInstance].
func (*instance) Close() {}

// Interceptor implements [httpfilter.ClientInstance]. An override replaces the configuration.
func (f *instance) Interceptor(u httpfilter.Use) (httpfilter.ClientInterceptor, error) {
	source := u.Config
	if u.Override != nil {
		source = u.Override
	}
	c, err := read[fault.Config](source)
	if err != nil || c.Delay == nil && c.Abort == nil {
		return nil, err
	}
	return httpfilter.ClientMiddleware(func(next http.RoundTripper) http.RoundTripper {
		i := &injector{faults: &f.faults, config: c, next: next}
		if c.Only != nil {
			for _, h := range c.Only.Headers {
				i.names = append(i.names, http.CanonicalHeaderKey(h.Name))
			}
		}
		return i
	}), nil
}

// An injector injects the faults of a configuration.
type injector struct {
	faults *faults.Faults
	config fault.Config
	names  []string // of config.Only.Headers, as http.Header has them
	next   http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (i *injector) RoundTrip(r *http.Request) (*http.Response, error) {
	if !i.concerns(r) {
		return i.next.RoundTrip(r)
	}
	wait, end := i.faults.Delay(i.config.Delay, r.Header["X-Envoy-Fault-Delay-Request"], r.Header["X-Envoy-Fault-Delay-Request-Percentage"]), i.abort(r.Header)
	if wait == 0 && end == nil || !i.faults.Begin(i.config.MaxActive) {
		return i.next.RoundTrip(r)
	}
	err := sleep(r.Context(), wait)
	i.faults.End()
	switch {
	case err != nil:
		return nil, err
	case end != nil:
		return end.response(r), nil
	default:
		return i.next.RoundTrip(r)
	}
}

// concerns reports whether the configuration is for a request.
func (i *injector) concerns(r *http.Request) bool {
	only := i.config.Only
	if only == nil {
		return true
	}
	if only.Cluster != "" && only.Cluster != httpfilter.ClusterOf(r.Context()) {
		return false
	}
	for at := range only.Headers {
		if !route.MatchHTTPHeader(&only.Headers[at], func(string) []string { return r.Header[i.names[at]] }) {
			return false
		}
	}
	return true
}

// An abortion is the end of a request: an HTTP status, or a status of gRPC if status is 0.
type abortion struct{ status, code uint32 }

// abort returns the end of a request, or nil for none.
func (i *injector) abort(h http.Header) *abortion {
	a := i.config.Abort
	if a == nil {
		return nil
	}
	end, share := &abortion{a.Status, a.Code}, a.PerMillion
	if a.FromHeaders {
		if end = requested(h); end == nil {
			return nil
		}
		share = faults.Lower(h["X-Envoy-Fault-Abort-Request-Percentage"], a.Unit, share)
	}
	if !i.faults.Chosen(share) {
		return nil
	}
	return end
}

// requested returns the end that the headers of a request ask for, or nil.
func requested(h http.Header) *abortion {
	const unauthenticated = 16 // the last status of gRPC
	if n, ok := faults.Number(h["X-Envoy-Fault-Abort-Grpc-Request"]); ok && n <= unauthenticated {
		return &abortion{code: n}
	}
	if n, ok := faults.Number(h["X-Envoy-Fault-Abort-Request"]); ok && n >= 200 && n < 600 {
		return &abortion{status: n, code: fault.CodeOf(n)}
	}
	return nil
}

// sleep waits for the given time, or until the context is done.
func sleep(ctx context.Context, wait time.Duration) error {
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

const abortText = "fault filter abort"

// response returns the response of an aborted request. Requests of gRPC get a status of gRPC.
func (a *abortion) response(r *http.Request) *http.Response {
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
		out := reply.New(http.StatusOK, "")
		out.Header["Content-Type"] = []string{"application/grpc"}
		out.Header["Grpc-Status"] = []string{strconv.FormatUint(uint64(a.code), 10)}
		out.Header["Grpc-Message"] = []string{abortText}
		return out
	}
	status := int(a.status)
	if a.status == 0 {
		status = statusOf(a.code)
	}
	return reply.To(r, status, abortText)
}

// statusOf returns the HTTP status that Envoy derives from a status of gRPC.
func statusOf(code uint32) int {
	const clientClosedRequest = 499
	statuses := [...]int{
		http.StatusOK, clientClosedRequest, http.StatusInternalServerError, http.StatusBadRequest, http.StatusGatewayTimeout,
		http.StatusNotFound, http.StatusConflict, http.StatusForbidden, http.StatusTooManyRequests, http.StatusBadRequest,
		http.StatusConflict, http.StatusBadRequest, http.StatusNotImplemented, http.StatusInternalServerError,
		http.StatusServiceUnavailable, http.StatusInternalServerError, http.StatusUnauthorized,
	}
	if int(code) >= len(statuses) {
		return http.StatusInternalServerError
	}
	return statuses[code]
}
