package sidechannel

import (
	"context"
	"errors"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"
)

// Crowded reports whether other calls to the service caused the failure of a call, instead of the service: a circuit breaker
// limits them (A32), or they use all streams that the connection may have. Whoever makes many calls could otherwise choose that
// the service is not asked.
func Crowded(err error) bool {
	var full interface{ Overflow() bool }
	return errors.As(err, &full) && full.Overflow()
}

// Forgivable reports whether the service caused the failure of a call, and not those whom the call describes: by the size or the content
// of the description, by many calls, or by bytes that the service quotes in a response, which then cannot be decoded.
func Forgivable(err error) bool {
	var quoted undecodableError
	if Crowded(err) || errors.As(err, &quoted) {
		return false
	}
	c := status.Code(err)
	return c != codes.ResourceExhausted && c != codes.InvalidArgument
}

// An undecodableError is the error of a call whose response cannot be decoded.
type undecodableError struct{ status *status.Status }

// Error implements error.
func (e undecodableError) Error() string { return e.status.Err().Error() }

// GRPCStatus returns the status.
func (e undecodableError) GRPCStatus() *status.Status { return e.status }

type observerKey struct{}

// Observe returns a context for a call that sets connected when it has a connection. Until it has a stream, it then waits for the streams
// of other calls.
func Observe(ctx context.Context, connected *atomic.Bool) context.Context {
	return context.WithValue(ctx, observerKey{}, connected)
}

// Connected reports whether a channel has a connection. A call without a stream then waits for the streams of other calls.
func Connected(cc grpc.ClientConnInterface) bool {
	if c, ok := cc.(*caller); ok {
		cc = c.cc
	}
	c, ok := cc.(interface{ GetState() connectivity.State })
	return ok && c.GetState() == connectivity.Ready
}

// crowdedError is the error of a call that got no stream of a connection within its time limit.
type crowdedError struct{}

// Error implements error.
func (e crowdedError) Error() string { return e.GRPCStatus().Err().Error() }

// GRPCStatus returns the status.
func (crowdedError) GRPCStatus() *status.Status {
	return status.New(codes.Unavailable, "sidechannel: other calls to the service use all streams of the connection for the whole time limit of this call; raise the service's limit of concurrent streams")
}

// Overflow implements the test of [Crowded].
func (crowdedError) Overflow() bool { return true }
