package routing

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// An exhausted stream fails as gRPC's last attempt does.
type exhausted struct {
	grpc.ClientStream
	err error
}

func (e exhausted) SendMsg(any) error { return e.err }

// After gRPC's last attempt, SendMsg returns io.EOF itself, and a unary call ends with a status of the policy.
func TestExhaustedNativeRetries(t *testing.T) {
	wrapped := fmt.Errorf("max retries exhausted: failed after 3 attempts: %w", io.EOF)
	other := status.Error(codes.Internal, "encoding")
	for in, want := range map[error]error{wrapped: io.EOF, io.EOF: io.EOF, other: other, nil: nil} {
		if got := (nativeStream{exhausted{err: in}}).SendMsg(nil); got != want { //nolint:errorlint // callers compare so
			t.Errorf("SendMsg = %v after %v; want %v", got, in, want)
		}
	}
	retries := func(c ...codes.Code) *call {
		r := new(retry)
		for _, one := range c {
			r.codes |= 1 << one
		}
		return &call{plan: &plan{Own: settings{retry: r}}}
	}
	for _, tt := range []struct {
		call *call
		err  error
		want codes.Code
	}{
		{retries(codes.Aborted), wrapped, codes.Aborted},
		{retries(codes.Aborted, codes.Unavailable), wrapped, codes.Unavailable},
		{retries(codes.Aborted), other, codes.Internal},
		{retries(codes.Aborted), nil, codes.OK},
		{new(call), wrapped, codes.Unknown},
	} {
		if got := tt.call.native().status(tt.err); status.Code(got) != tt.want || errors.Is(got, io.EOF) != (tt.want == codes.Unknown) {
			t.Errorf("%v after %v; want %v", got, tt.err, tt.want)
		}
	}
}
