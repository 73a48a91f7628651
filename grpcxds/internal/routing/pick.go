package routing

import (
	"context"
	"errors"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
)

// Pick routes a call in the picker if no interceptor of a [Channel] has routed it, as in channels
// that have only the resolver. Timeouts and retries cannot be applied then. The call fails if HTTP
// filters must run, because filters such as those for security must not be skipped. The caller
// calls release when the call has ended or was not sent.
func (t *Table) Pick(ctx context.Context, method string) (call *lbtree.Call, release func(), err error) {
	var headers headers
	p, err := t.plan(ctx, method, &headers)
	if err != nil {
		return nil, nil, err
	}
	if p.err != nil {
		return nil, nil, status.Error(codes.Unavailable, p.err.Error())
	}
	to := p.choose()
	switch {
	case !to.chain.Idle():
		err = t.trouble("HTTP filters need the interceptors of grpcxds.DialOptions")
		return nil, nil, status.Error(codes.Unavailable, err.Error())
	case !to.ref.acquire():
		return nil, nil, balancer.ErrNoSubConnAvailable // there is a newer picker
	}
	return p.info(ctx, to, &headers), to.ref.drop, nil
}

// Unroutable replaces [Table.Pick] while there is no table, for the given reason. Calls fail, or
// wait if they set WaitForReady. The reason becomes text, so that a control plane's status does not
// become the status of a call (A54).
func Unroutable(reason error) func(context.Context, string) (*lbtree.Call, func(), error) {
	err := errors.New(reason.Error())
	return func(context.Context, string) (*lbtree.Call, func(), error) { return nil, nil, err }
}
