package httpxds

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/xdsforge/xdsforge/httpxds/httpfilter"
	"github.com/xdsforge/xdsforge/httpxds/internal/filterlist"
	"github.com/xdsforge/xdsforge/httpxds/internal/netconn"
	"github.com/xdsforge/xdsforge/internal/dataplane/filters"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/routes"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/listener"
)

// clientFilters creates the interceptors of a configuration.
type clientFilters = filterlist.List[httpfilter.ClientInstance, httpfilter.ClientInterceptor]

// newFilters returns the clientFilters of a list of filters. It returns nil if the list has only a terminal filter, so that
// requests do not pass filters.
func (t *Transport) newFilters(list []listener.HTTPFilter) *clientFilters {
	if len(list) <= 1 {
		return nil
	}
	return &clientFilters{
		Set: t.instances.Begin(), Filters: list, Known: t.share.filters.Known,
		New: func(e filters.Entry) (httpfilter.ClientInstance, error) {
			return t.share.filters.Filter(e.Message).NewClient(httpfilter.Host{
				Name: e.Name, Target: t.target, Cluster: t.cluster, Filter: t.share.filters.Filter, Logger: t.logger,
			})
		},
	}
}

// cluster returns the newest resource of a cluster, for filters.
func (t *Transport) cluster(name string) (*cluster.Update, error) {
	return t.latest.Load().Cluster(name)
}

// chain returns the RoundTripper that passes requests through interceptors. It returns nil if there are none.
func chain(list []httpfilter.ClientInterceptor) http.RoundTripper {
	if len(list) == 0 {
		return nil
	}
	var next http.RoundTripper = filtersEnd{}
	for _, i := range slices.Backward(list) {
		next = i.Wrap(next)
	}
	return next
}

// A routed is a request that passes filters. The context of the request has it.
type routed struct {
	transport *Transport
	table     *table
	plan      *routes.Plan[plan, target] // nil: there is no route
	err       error                      // why there is no route
	to        *routes.Target[target]     // nil: the route has a response of its own
	passed    atomic.Bool                // the filters have passed the request on
}

type routedKey struct{}

// chain returns the filters of the request, or nil.
func (f *routed) chain() http.RoundTripper {
	switch {
	case f.plan == nil:
		return f.table.unmatched
	case f.to != nil:
		return f.to.Own.chain
	default:
		return f.plan.Own.chain
	}
}

// run passes a request through its filters. The caller has acquired the cluster and the filters of the table.
func (f *routed) run(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	if f.to != nil {
		ctx = lbtree.WithCall(ctx, f.to.Call)
	}
	resp, err := f.chain().RoundTrip(r.WithContext(context.WithValue(ctx, routedKey{}, f)))
	if f.to != nil {
		f.to.Release()
	}
	if !f.passed.Load() {
		closeBody(r)
	}
	if err == nil && resp == nil {
		err = errNoResponse
	}
	if err != nil {
		f.table.filters.Release()
		return nil, f.failed(r.Context(), err)
	}
	f.hold(resp)
	return resp, nil
}

var errNoResponse = errors.New("an HTTP filter has returned neither a response nor an error")

// failed returns the error of a request. An error of a filter gets a reason.
func (f *routed) failed(own context.Context, err error) error {
	var e *Error
	switch {
	case own.Err() != nil:
		return context.Cause(own)
	case errors.As(err, &e):
		return e
	}
	e = &Error{Reason: Filtered, Route: nameOf(f.plan), Err: err}
	if f.to != nil {
		e.Cluster = f.to.Call.Cluster
	}
	return e
}

// hold makes the filters of a request end after the body of its response.
func (f *routed) hold(resp *http.Response) {
	set := f.table.filters
	switch body := resp.Body.(type) {
	case nil:
		resp.Body = http.NoBody
		set.Release()
	case io.ReadWriteCloser: // of an upgraded connection
		resp.Body = &heldStream{heldBody{ReadCloser: body, release: sync.OnceFunc(set.Release)}, body}
	default:
		if body == http.NoBody {
			set.Release()
			return
		}
		resp.Body = &heldBody{ReadCloser: body, release: sync.OnceFunc(set.Release)}
	}
}

// A heldBody keeps filters until it is closed.
type heldBody struct {
	io.ReadCloser
	release func()
}

// Close implements [io.Closer].
func (b *heldBody) Close() error {
	err := b.ReadCloser.Close()
	b.release()
	return err
}

// A heldStream is the heldBody of an upgraded connection.
type heldStream struct {
	heldBody
	io.Writer
}

// CloseWrite ends the direction to the endpoint.
func (s *heldStream) CloseWrite() error { return netconn.CloseWrite(s.Writer) }

// filtersEnd is the end of all chains of filters. It sends requests.
type filtersEnd struct{}

var errNoContext = errors.New("an HTTP filter has replaced the context of the request; must derive it")

// RoundTrip implements [http.RoundTripper].
func (filtersEnd) RoundTrip(r *http.Request) (*http.Response, error) {
	f, ok := r.Context().Value(routedKey{}).(*routed)
	if !ok {
		closeBody(r)
		return nil, errNoContext
	}
	f.passed.Store(true)
	resp, err := f.send(r)
	if err != nil {
		if resp = f.transport.gatewayResponse(err); resp == nil {
			return nil, err
		}
	}
	resp.Request = r
	return resp, nil
}

var errEnded = errors.New("an HTTP filter has passed a request on after its end")

// send sends the request, or returns the response of its route.
func (f *routed) send(r *http.Request) (*http.Response, error) {
	switch {
	case f.plan == nil:
		closeBody(r)
		return nil, &Error{Reason: NoRoute, Err: f.err}
	case f.to == nil:
		closeBody(r)
		return local(r, &f.plan.Own), nil
	case !f.to.Acquire():
		closeBody(r)
		return nil, errEnded
	}
	x := &exchange{transport: f.transport, view: view{table: f.table, request: r, id: f.transport.id}}
	return x.start(r, f.plan, f.to)
}
