// Package echo is a gRPC service that answers every message with an empty one.
package echo

import (
	"context"
	"errors"
	"io"

	testpb "google.golang.org/grpc/interop/grpc_testing"
)

// Server implements the service.
type Server struct {
	testpb.UnimplementedTestServiceServer
}

// EmptyCall implements the service.
func (Server) EmptyCall(context.Context, *testpb.Empty) (*testpb.Empty, error) {
	return &testpb.Empty{}, nil
}

// FullDuplexCall answers each message of the stream.
func (Server) FullDuplexCall(s testpb.TestService_FullDuplexCallServer) error {
	for {
		switch _, err := s.Recv(); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := s.Send(&testpb.StreamingOutputCallResponse{}); err != nil {
			return err
		}
	}
}
