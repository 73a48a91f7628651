package httpxds

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/balancer"

	"github.com/xdsforge/xdsforge/httpxds/internal/pool"
	"github.com/xdsforge/xdsforge/internal/dataplane/breaker"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/outlier"
	"github.com/xdsforge/xdsforge/internal/dataplane/routes"
)

// An exchange is a request with a route. It is the body of the response, so that it ends with it.
type exchange struct {
	transport *Transport
	plan      *plan
	to        *routes.Target[target]
	call      *lbtree.Call
	retries   uint32
	waited    time.Duration           // between attempts
	circuit   *breaker.Circuit        // the limits of the last attempt's cluster; nil: none
	sent      *streamedBody           // nil: the body can be read again, or there is none
	upload    upload                  // of the body
	outgoing  io.ReadCloser           // the body of the last attempt
	cancel    context.CancelCauseFunc // of the time limits; nil: none
	cancelTry context.CancelCauseFunc // of the time limit of the last attempt; nil: none
	limit     *timeLimit              // of the route; nil: none
	atOnce    bool                    // isSentAtOnce held, and the route has a time limit; from the response on, also that it is one of HTTP/2

	// The next three are parts, so that they need no memory of their own.
	view    view
	picked  lbtree.CallContext
	limited http.Request // the request with the context of the time limits

	// The fields below are those of the last attempt with a response.
	body    io.ReadCloser
	ctx     context.Context //nolint:containedctx // its error explains that of the body
	done    func(balancer.DoneInfo)
	failure error // for the account of the endpoint; the caller of end may replace it
	load    any   // the endpoint's load report, or nil
	over    atomic.Bool
	whole   atomic.Bool // body was read to its end, and needs no Close
	shut    atomic.Bool // Close has left a whole body open
}

// maxReplays limits how often one attempt is sent again because its endpoint has not received it. The policy of retries of the
// route decides about more.
const maxReplays = 10

// attempt sends the request until it has a response or an error. It sends it again only if the endpoint has not received it.
func (x *exchange) attempt(ctx context.Context, r *http.Request) (*http.Response, error) {
	for n := 0; ; n++ {
		if trace := httptrace.ContextClientTrace(ctx); trace != nil && trace.GetConn != nil {
			trace.GetConn(hostOf(r))
		}
		x.outgoing = r.Body
		lease, err := x.transport.tree.Acquire(balancer.PickInfo{FullMethodName: r.URL.Path, Ctx: ctx}, isUpgrade(r))
		if err != nil {
			closeBody(r)
			return nil, x.unassigned(ctx, err)
		}
		x.circuit = lease.Circuit()
		before := lease.Written()
		resp, err := x.send(ctx, r, lease)
		if err == nil {
			return resp, nil
		}
		wrote := lease.Written() - before
		if wrong := x.wrong(ctx, lease, wrote, err); wrong != nil {
			lease.Pick.Done(balancer.DoneInfo{Err: &outlier.FailureError{Status: http.StatusBadRequest, Ignored: true}, BytesSent: wrote > 0})
			return nil, x.fail(Invalid, "", wrong)
		}
		var next *http.Request
		var failed error
		if n < maxReplays && ctx.Err() == nil && repeatable(r, lease, wrote, err) { // otherwise nobody would close the body of next
			next, failed = x.rewound(r)
		}
		switch {
		case next != nil:
			lease.Pick.Done(balancer.DoneInfo{}) // the endpoint did not receive it
			x.upload.rest()
			r = next
		case failed != nil:
			lease.Pick.Done(balancer.DoneInfo{})
			return nil, x.fail(Invalid, "", failed)
		default:
			lease.Pick.Done(balancer.DoneInfo{Err: failureOf(ctx, err), BytesSent: true})
			return nil, x.broken(ctx, lease, err)
		}
	}
}

// wrong returns the error of the program because of which an attempt has failed, or nil.
func (x *exchange) wrong(ctx context.Context, l pool.Lease, wrote int64, err error) error {
	if failed := x.bodyFailure(); failed != nil {
		return failed
	}
	if ctx.Err() != nil || errors.Is(err, errInsecure) || errors.Is(err, errPerTry) {
		return nil //nolint:nilerr // the attempt failed for another reason
	}
	if l.Multiplexed() && unwritable(err) || !l.Multiplexed() && wrote == 0 && !l.Failed() && !endedIdle(err) {
		return err
	}
	return nil
}

// bodyFailure returns the error of the body of the last attempt, as the program made it, or nil.
func (x *exchange) bodyFailure() error {
	switch b := x.outgoing.(type) {
	case *attemptBody:
		return b.body.source.failure()
	case *replayedBody:
		return b.source.failure()
	default:
		return nil
	}
}

var errInsecure = errors.New("the control plane did not configure TLS for the cluster, and the URL of the request has the scheme https")

// send sends the request on a connection.
func (x *exchange) send(ctx context.Context, r *http.Request, l pool.Lease) (*http.Response, error) {
	if r.URL.Scheme == "https" && !l.Secure() {
		l.Release()
		closeBody(r)
		return nil, errInsecure
	}
	if host := l.Pick.Metadata[":authority"]; len(host) > 0 { // the endpoint's hostname (A81)
		r = r.WithContext(ctx)
		r.Host = host[0]
	}
	if trace := httptrace.ContextClientTrace(ctx); trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{Conn: l.Conn(), Reused: l.Reused()})
	}
	sent, stop := x.perTry(ctx, r)
	if a, ok := r.Body.(*attemptBody); ok && a.body.limit > 0 && !l.Multiplexed() {
		remove := l.OnClose(a.end)
		defer remove()
	}
	resp, err := l.RoundTrip(sent)
	if inTime := stop(); !inTime && err == nil { // the body of the response is already canceled
		_ = resp.Body.Close() // the attempt has failed
		err = context.Canceled
	}
	if err != nil {
		l.Broken()
		if sent.Context().Err() != nil && ctx.Err() == nil {
			err = fmt.Errorf("%w: %w", errPerTry, err)
		}
		return nil, err
	}
	x.follow(ctx, resp, l)
	return resp, nil
}

// failureOf returns the error of an attempt without a response, for the account of its endpoint.
func failureOf(ctx context.Context, err error) *outlier.FailureError {
	switch {
	case errors.Is(err, errPerTry), errors.Is(context.Cause(ctx), errTimeout):
		return &outlier.FailureError{Status: http.StatusGatewayTimeout, Local: true}
	case ctx.Err() != nil, errors.Is(err, errInsecure):
		return &outlier.FailureError{Status: http.StatusServiceUnavailable, Ignored: true}
	default:
		return &outlier.FailureError{Status: http.StatusServiceUnavailable, Local: true}
	}
}

// errPerTry is the cause of the end of an attempt by the time limit of the retry policy.
var errPerTry = errors.New("the time limit of the attempt has passed")

// perTry applies the time limit of an attempt, which ends with the headers of the response. As in Envoy, it starts again at the
// end of the request. stop returns false if the time has passed.
func (x *exchange) perTry(ctx context.Context, r *http.Request) (limited *http.Request, stop func() bool) {
	p := x.plan.Retry
	if p == nil || p.PerTry == 0 || isUpgrade(r) {
		return r, alwaysInTime
	}
	ctx, cancel := context.WithCancelCause(ctx)
	if x.cancelTry != nil {
		x.cancelTry(nil) // that attempt has ended
	}
	x.cancelTry = cancel
	limit := &timeLimit{cancel: cancel, cause: errPerTry}
	limit.start(p.PerTry)
	x.upload.try(limit, r)
	return r.WithContext(ctx), limit.end
}

func alwaysInTime() bool { return true }

// broken returns the error of an attempt that was sent on a connection.
func (x *exchange) broken(ctx context.Context, l pool.Lease, err error) error {
	switch {
	case errors.Is(err, errInsecure):
		return x.fail(Connect, l.Endpoint(), err)
	case errors.Is(context.Cause(ctx), errTimeout):
		return x.fail(Timeout, l.Endpoint(), errTimeout)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, errPerTry):
		return x.fail(Timeout, l.Endpoint(), errPerTry)
	default:
		return x.fail(Reset, l.Endpoint(), err)
	}
}

// unassigned returns the error of an attempt that was not assigned to a connection.
func (x *exchange) unassigned(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	out := x.fail(NoEndpoint, "", err)
	var failed *pool.ConnectError
	var dropped interface{ Overflow() bool }
	switch {
	case errors.As(err, &failed):
		out.Reason, out.Endpoint, x.circuit = Connect, failed.Endpoint, failed.Circuit
	case errors.As(err, &dropped) && dropped.Overflow():
		out.Reason = Overflow
	case dropped != nil:
		out.Reason = Dropped
	}
	return out
}
