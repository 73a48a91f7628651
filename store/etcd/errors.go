package etcd

import (
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// ErrUnknownOutcome is in the chain of the error of a commit that may or may not have happened, because
// its context ended before the nodes answered.
var ErrUnknownOutcome = errors.New("the outcome of the commit is unknown")

// ErrClosed is in the chain of the errors of a closed store.
var ErrClosed = errors.New("the store is closed")

// explain adds to an error of etcd how to correct it.
func explain(err error) error {
	for _, e := range []struct {
		err    error
		advice string
	}{
		{rpctypes.ErrNoSpace, "the nodes have reached --quota-backend-bytes: compact, defragment, and disarm the alarm"},
		{rpctypes.ErrRequestTooLarge, "set --max-request-bytes 16777216 on the nodes, or a smaller TxnBytes"},
		{rpctypes.ErrTooManyOps, "set --max-txn-ops 1024 on the nodes, or a smaller TxnOperations"},
		{rpctypes.ErrPermissionDenied, "the user needs a role for the keys of the tenant"},
		{rpctypes.ErrCompacted, "the nodes do not keep this revision any longer; a longer --auto-compaction-retention keeps more"},
		{rpctypes.ErrFutureRev, "the store has no such revision yet"},
		{rpctypes.ErrUserEmpty, "the nodes demand a user; set Username and Password"},
	} {
		if errors.Is(err, e.err) {
			return fmt.Errorf("etcd: %w; %s", err, e.advice)
		}
	}
	if _, ok := errors.AsType[rpctypes.EtcdError](err); !ok && status.Code(err) == codes.ResourceExhausted {
		return fmt.Errorf("etcd: %w; set --max-request-bytes 16777216 on the nodes, or a smaller TxnBytes", err) // of gRPC
	}
	return fmt.Errorf("etcd: %w", err)
}

// final reports whether another try of the same request would fail as well, and this one had no effect.
func final(err error) bool {
	code := codes.Unknown
	if of, ok := errors.AsType[rpctypes.EtcdError](err); ok {
		code = of.Code()
	} else if s, ok := status.FromError(err); ok {
		code = s.Code()
	}
	if errors.Is(err, rpctypes.ErrFutureRev) {
		return false // the node sends the events of a revision before it answers reads of it
	}
	switch code {
	case codes.InvalidArgument, codes.ResourceExhausted, codes.PermissionDenied, codes.OutOfRange, codes.Unimplemented, codes.NotFound:
		return !errors.Is(err, rpctypes.ErrTooManyRequests)
	case codes.FailedPrecondition:
		return true
	default:
		return errors.Is(err, rpctypes.ErrUserEmpty)
	}
}

// ended returns the error of a request whose context has ended, with the last error of the nodes.
func ended(cause, last error) error {
	if last == nil {
		return fmt.Errorf("etcd: %w", cause)
	}
	return fmt.Errorf("etcd: %w; the last error of the nodes: %w", cause, last)
}
