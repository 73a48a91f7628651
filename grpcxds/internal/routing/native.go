package routing

import (
	"errors"
	"io"
	"math/bits"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A native is the policy by which gRPC retries a call, or nil.
type native struct{ *retry }

// native returns the policy of a call that gRPC retries.
func (c *call) native() native {
	if c.tries != nil || c.plan == nil {
		return native{}
	}
	return native{c.plan.Own.retry}
}

// status returns the status of a unary call. When the last attempt of gRPC's own retries ends before its message is sent, gRPC returns
// io.EOF in an error that is no status, and keeps the status to itself. The attempt had a code of the retry policy. If there is one, the
// result has that; otherwise UNAVAILABLE.
func (n native) status(err error) error {
	if err == nil || n.retry == nil || !errors.Is(err, io.EOF) {
		return err
	}
	code := codes.Unavailable
	if bits.OnesCount64(n.codes) == 1 {
		code = codes.Code(bits.TrailingZeros64(n.codes)) //nolint:gosec // below 64
	}
	return status.Error(code, "grpcxds: all attempts failed with a status that the retry policy retries")
}

// wrap returns the stream of a call.
func (n native) wrap(s grpc.ClientStream, err error) (grpc.ClientStream, error) {
	if err != nil || n.retry == nil {
		return s, err
	}
	return nativeStream{s}, nil
}

// A nativeStream is the stream of a call that gRPC retries.
type nativeStream struct{ grpc.ClientStream }

// SendMsg implements [grpc.ClientStream]. When gRPC's last attempt fails, SendMsg returns io.EOF within another error. Callers
// compare with io.EOF, and then receive the status.
func (s nativeStream) SendMsg(m any) error {
	if err := s.ClientStream.SendMsg(m); !errors.Is(err, io.EOF) {
		return err
	}
	return io.EOF
}
