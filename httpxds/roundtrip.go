package httpxds

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"google.golang.org/grpc/balancer"

	"github.com/xdsforge/xdsforge/httpxds/internal/pool"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/routes"
)

// RoundTrip implements [http.RoundTripper]. It routes the request by its path and headers, chooses a cluster and an endpoint,
// and sends the request there. The host of the URL need not be that of the target.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.roundTrip(r)
	if err != nil {
		return nil, err
	}
	resp.Request = r
	return resp, nil
}

func (t *Transport) roundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	for {
		table, err := t.ready(ctx)
		if err != nil {
			closeBody(r)
			return nil, err
		}
		h := headers{table, r}
		p, err := table.Plan(pathOf(r), h)
		if err == nil {
			err = p.Err
		}
		if err != nil {
			closeBody(r)
			return nil, &Error{Reason: NoRoute, Route: nameOf(p), Err: err}
		}
		to := p.Choose()
		if !to.Acquire() {
			continue // another table has replaced this one
		}
		x := &exchange{transport: t, request: r, to: to, route: p.Route.Name, call: to.Call}
		if len(p.Own.hash) > 0 {
			x.call = routes.Hashed(p.Own.hash, 0, to.Call, h)
		}
		return x.run(ctx)
	}
}

func nameOf(p *routes.Plan[plan, target]) string {
	if p == nil {
		return ""
	}
	return p.Route.Name
}

// closeBody closes the body of a request that is not sent. Every RoundTripper must.
func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close() // the request has another error
	}
}

// An exchange is a request with a route. It is the body of the response, so that it ends with it.
type exchange struct {
	transport *Transport
	request   *http.Request
	to        *routes.Target[target]
	route     string
	call      *lbtree.Call

	// The fields below are set when there is a response.
	body    io.ReadCloser
	done    func(balancer.DoneInfo)
	failure error // for the account of the endpoint
	over    atomic.Bool
}

// maxReplays is the limit of sendings of one request of which nothing was written, or which the server refused to process.
const maxReplays = 100

// run sends the request until it has a response or an error.
func (x *exchange) run(ctx context.Context) (*http.Response, error) {
	ctx = lbtree.WithCall(ctx, x.call)
	r := replayable(x.request)
	for n := 0; ; n++ {
		lease, err := x.transport.tree.Acquire(balancer.PickInfo{FullMethodName: pathOf(r), Ctx: ctx})
		if err != nil {
			x.to.Release()
			closeBody(x.request)
			return nil, x.unassigned(ctx, err)
		}
		before := lease.Written()
		resp, err := x.send(r, lease)
		if err == nil {
			return resp, nil
		}
		lease.Pick.Done(balancer.DoneInfo{Err: err, BytesSent: true})
		if next := again(r, lease, lease.Written()-before, err); next != nil && n < maxReplays && ctx.Err() == nil {
			r = next
			continue
		}
		x.to.Release()
		closeBody(x.request)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		out := &Error{Reason: Reset, Route: x.route, Cluster: x.call.Cluster, Endpoint: lease.Endpoint(), Err: err}
		if errors.Is(err, errInsecure) {
			out.Reason = Connect
		}
		return nil, out
	}
}

var errInsecure = errors.New("the control plane did not configure TLS for the cluster, and the URL of the request has the scheme https")

// send sends the request on a connection.
func (x *exchange) send(r *http.Request, l pool.Lease) (*http.Response, error) {
	if r.URL.Scheme == "https" && !l.Secure() {
		l.Release()
		return nil, errInsecure
	}
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{Conn: l.Conn(), Reused: l.Reused()})
	}
	resp, err := l.RoundTrip(r)
	if err != nil {
		l.Broken()
		return nil, err
	}
	x.follow(resp, l)
	return resp, nil
}

// unassigned returns the error of a request that was not assigned to a connection.
func (x *exchange) unassigned(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	out := &Error{Reason: NoEndpoint, Route: x.route, Cluster: x.call.Cluster, Err: err}
	var failed *pool.ConnectError
	var dropped interface{ Overflow() bool }
	switch {
	case errors.As(err, &failed):
		out.Reason, out.Endpoint = Connect, failed.Endpoint
	case errors.As(err, &dropped) && dropped.Overflow():
		out.Reason = Overflow
	case dropped != nil:
		out.Reason = Dropped
	}
	return out
}
