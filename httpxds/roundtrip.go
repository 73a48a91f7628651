package httpxds

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/xdsforge/xdsforge/httpxds/internal/reply"
	"github.com/xdsforge/xdsforge/internal/dataplane/breaker"
	"github.com/xdsforge/xdsforge/internal/dataplane/routes"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// RoundTrip implements [http.RoundTripper]. It routes the request by its path, headers and query, chooses a cluster and an
// endpoint, and sends the request there. The host of the URL need not be that of the target. An error is an [*Error], or that
// of the request's context.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	out, err := checked(r)
	if err != nil {
		closeBody(r)
		return nil, &Error{Reason: Invalid, Err: err}
	}
	return t.send(out, r)
}

// send sends a checked request. The response has the request of the program.
func (t *Transport) send(out, r *http.Request) (*http.Response, error) {
	resp, err := t.roundTrip(out)
	if err != nil {
		if resp = t.gatewayResponse(err); resp == nil {
			return nil, err
		}
	}
	resp.Request = r
	return resp, nil
}

// gatewayResponse returns the response of a proxy for an error, or nil.
func (t *Transport) gatewayResponse(err error) *http.Response {
	var e *Error
	if !t.settings.gateway || !errors.As(err, &e) || e.Reason == Invalid {
		return nil
	}
	switch e.Reason {
	case NoRoute:
		if errors.Is(err, routes.ErrNoRoute) {
			return reply.New(http.StatusNotFound, "")
		}
		return reply.New(http.StatusServiceUnavailable, e.Error())
	case Timeout:
		return reply.New(http.StatusGatewayTimeout, e.Error())
	case Connect, Reset:
		return reply.New(http.StatusBadGateway, e.Error())
	default:
		return reply.New(http.StatusServiceUnavailable, e.Error())
	}
}

func (t *Transport) roundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	for {
		table, err := t.ready(ctx)
		if err != nil {
			closeBody(r)
			return nil, err
		}
		if host := hostOf(r); table.settings != nil {
			if short := table.settings.Host(host, ""); short != host {
				r = r.WithContext(ctx)
				r.Host = short
			}
		}
		x := &exchange{transport: t, view: view{table: table, request: r, id: t.id}}
		v := &x.view
		p, err := table.HTTPPlan(hostOf(r), pathOf(r), v)
		switch {
		case err == nil:
			err = p.Err
		case table.unmatched != nil:
			if !table.filters.Acquire() {
				continue // another table has replaced this one
			}
			return (&routed{transport: t, table: table, err: err}).run(r)
		}
		if err != nil {
			closeBody(r)
			return nil, &Error{Reason: NoRoute, Route: nameOf(p), Err: err}
		}
		if p.Own.tls && schemeOf(r) != "https" {
			closeBody(r)
			return toHTTPS(r), nil
		}
		to, err := choose(p, v)
		switch {
		case err != nil:
			closeBody(r)
			return nil, &Error{Reason: NoRoute, Route: nameOf(p), Err: err}
		case to == nil && p.Own.Direct == nil && p.Own.Redirect == nil:
			closeBody(r)
			return nil, &Error{Reason: NoRoute, Route: nameOf(p), Err: errNoAction}
		case to == nil && p.Own.chain == nil:
			closeBody(r)
			return local(r, &p.Own), nil
		case to != nil && !to.Acquire():
			continue // another table has replaced this one
		case to != nil && to.Own.chain == nil:
			return x.start(r, p, to)
		case !table.filters.Acquire():
			if to != nil {
				to.Release()
			}
			continue
		}
		return (&routed{transport: t, table: table, plan: p, to: to}).run(r)
	}
}

// start sends a request to a cluster that was acquired, and releases the cluster at the end.
func (x *exchange) start(r *http.Request, p *routes.Plan[plan, target], to *routes.Target[target]) (*http.Response, error) {
	x.plan, x.to, x.call = &p.Own, to, to.Call
	if len(p.Own.route.HashPolicies) > 0 {
		x.call = routes.Hashed(p.Own.route.HashPolicies, x.transport.id, to.Call, &x.view)
	}
	return x.run(r, &x.view)
}

var errNotNamed = errors.New("the header of cluster_header names no cluster of WithHeaderClusters")

// choose returns the cluster of a request, or nil if its route has a response of its own.
func choose(p *routes.Plan[plan, target], v *view) (*routes.Target[target], error) {
	a, ok := p.Route.Action.(route.ClusterHeader)
	if !ok {
		return p.Choose(), nil
	}
	if values := v.Values(strings.ToLower(a.Name)); len(values) > 0 {
		if to := p.Named(values[0]); to != nil {
			return to, nil
		}
	}
	return nil, errNotNamed
}

var errNoAction = errors.New("the action of the route is not supported")

func nameOf(p *routes.Plan[plan, target]) string {
	if p == nil {
		return ""
	}
	return p.Route.Name
}

// run sends a request, and prepares its response.
func (x *exchange) run(r *http.Request, v *view) (*http.Response, error) {
	resp, err := x.attempts(r, v)
	if x.retries > 0 {
		x.transport.metrics.Retried(otherMethod, int(x.retries), x.waited) //nolint:contextcheck // metrics have no context
	}
	if err != nil {
		x.stop()
		x.to.Release()
		x.closeBody(r)
		return nil, x.ended(r.Context(), err)
	}
	if x.sent != nil {
		x.sent.commit()
	}
	if x.body == http.NoBody {
		x.end(nil)
		resp.Body = http.NoBody
	}
	for _, c := range v.cookies {
		resp.Header.Add("Set-Cookie", c)
	}
	change(resp.Header, x.plan.Headers.Response, r)
	if of := x.to.Own.headers; of != nil {
		change(resp.Header, of.Response, r)
	}
	return resp, nil
}

// otherMethod is the method of requests in the metrics of retries (A66): nothing shows that their paths are few.
const otherMethod = "other"

// closeBody closes the body of a request that has an error.
func (x *exchange) closeBody(r *http.Request) {
	if x.sent == nil {
		closeBody(r)
		return
	}
	x.sent.abandon()
}

// attempts makes attempts until one succeeds or no other is wanted.
func (x *exchange) attempts(r *http.Request, v *view) (*http.Response, error) {
	out, err := x.prepare(r, v)
	if err != nil {
		return nil, x.fail(NoRoute, "", err)
	}
	ctx := x.picked.With(r.Context(), x.call)
	out = x.replayable(x.streamed(out))
	ctx, out = x.withLimit(ctx, out)
	var retry breaker.Unit // counts until the outcome of the retry, as in Envoy
	for {
		resp, err := x.attempt(ctx, out)
		retry.Release()
		if err != nil && ctx.Err() != nil || !x.wants(v, resp, err) {
			return resp, err
		}
		var ok bool
		if retry, ok = x.circuit.Take(breaker.Retries); !ok {
			return resp, err
		}
		next, failed := x.rewound(out)
		if next == nil {
			retry.Release()
			if failed != nil && resp == nil {
				err = x.fail(Invalid, "", failed)
			}
			return resp, err
		}
		x.upload.rest()
		if resp != nil {
			x.discard(resp)
		}
		if err := x.pause(ctx); err != nil {
			retry.Release()
			closeBody(next)
			return nil, err
		}
		out = next
		x.retries++
	}
}

// ended returns the error of a request: that of its own context if the context has ended, and err otherwise.
func (x *exchange) ended(own context.Context, err error) error {
	var e *Error
	switch {
	case own.Err() != nil:
		return context.Cause(own)
	case errors.Is(err, errTimeout) && !errors.As(err, &e):
		return x.fail(Timeout, "", err)
	default:
		return err
	}
}

// fail returns an error of the request.
func (x *exchange) fail(why Reason, endpoint string, err error) *Error {
	return &Error{Reason: why, Route: x.plan.route.Name, Cluster: x.call.Cluster, Endpoint: endpoint, Err: err}
}
