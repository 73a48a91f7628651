package routing

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/routes"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// plan returns the plan of a call. The error is a gRPC status.
func (t *Table) plan(ctx context.Context, method string, h *headers) (*plan, error) {
	var seen route.Headers
	if t.ReadsHeaders() {
		seen = h.get(ctx)
	}
	p, err := t.Plan(method, seen)
	if err != nil {
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	return p, nil
}

// info returns the routing decisions of a call for the pickers.
func info(ctx context.Context, p *plan, to *target, h *headers) *lbtree.Call {
	if len(p.Own.hash) == 0 {
		return to.Call
	}
	return routes.Hashed(p.Own.hash, p.Own.id, to.Call, values(h.get(ctx)))
}

// values are the headers of a call, for hash policies.
type values route.Metadata

// Value implements [routes.Values]. It returns the value of a header that A28 lets a channel see. It
// excludes binary headers, and includes the content type that gRPC sends.
func (v values) Value(p *route.HashPolicy) (string, bool) {
	name := p.Header
	if strings.HasSuffix(name, "-bin") {
		return "", false
	}
	switch values := route.Metadata(v).Values(name); {
	case len(values) == 1:
		return values[0], true
	case len(values) > 1:
		return strings.Join(values, ","), true
	}
	return "application/grpc", name == "content-type"
}

// Pick routes a call in the picker if no interceptor of a [Interceptors] has routed it, as in channels
// that have only the resolver. Timeouts and retries cannot be applied then. The call fails if HTTP
// filters must run, because filters such as those for security must not be skipped. The caller
// calls release when the call has ended or was not sent.
func (t *Table) Pick(ctx context.Context, method string) (call *lbtree.Call, release func(), err error) {
	var headers headers
	p, err := t.plan(ctx, method, &headers)
	if err != nil {
		return nil, nil, err
	}
	if p.Err != nil {
		return nil, nil, status.Error(codes.Unavailable, p.Err.Error())
	}
	to := p.Choose()
	switch {
	case !to.Own.Idle():
		err = t.Trouble(routes.ErrUnusable, "HTTP filters need the interceptors of grpcxds.DialOptions")
		return nil, nil, status.Error(codes.Unavailable, err.Error())
	case !to.Acquire():
		return nil, nil, balancer.ErrNoSubConnAvailable // there is a newer picker
	}
	return info(ctx, p, to, &headers), to.Release, nil
}

// Unroutable replaces [Table.Pick] while there is no table, for the given reason. Calls fail, or
// wait if they set WaitForReady. The reason becomes text, so that a control plane's status does not
// become the status of a call (A54).
func Unroutable(reason error) func(context.Context, string) (*lbtree.Call, func(), error) {
	err := errors.New(reason.Error())
	return func(context.Context, string) (*lbtree.Call, func(), error) { return nil, nil, err }
}
