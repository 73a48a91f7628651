package pool

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// noServices is the connection of producers. It has no services.
type noServices struct{}

var errNoServices = status.Error(codes.Unimplemented, "httpxds: HTTP endpoints have no services of gRPC")

// Invoke implements [grpc.ClientConnInterface].
func (noServices) Invoke(context.Context, string, any, any, ...grpc.CallOption) error {
	return errNoServices
}

// NewStream implements [grpc.ClientConnInterface].
func (noServices) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, errNoServices
}
