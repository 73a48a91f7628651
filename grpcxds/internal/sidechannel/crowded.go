package sidechannel

import (
	"errors"

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
