package routing

import (
	"errors"
	"io"
	"math/bits"
	"slices"
	"strings"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
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

// invoke makes a unary call by f, and returns the status of its last attempt.
func (n native) invoke(opts []grpc.CallOption, f func([]grpc.CallOption) error) error {
	if n.retry == nil {
		return f(opts)
	}
	var trailer metadata.MD
	return n.status(f(append(slices.Clip(opts), grpc.Trailer(&trailer))), trailer)
}

// status returns the status of a call. When the last attempt of gRPC's own retries ends before its message is sent, gRPC returns io.EOF in
// an error that is no status, and keeps the status to itself. Only a status with details is in the trailer, too. The attempt had a code
// of the retry policy. If there is one, the result has that; otherwise UNAVAILABLE.
func (n native) status(err error, trailer metadata.MD) error {
	switch {
	case n.retry == nil:
		return err
	case !errors.Is(err, io.EOF):
		return unwrap(err)
	}
	if s := detailed(trailer); s != nil {
		return s
	}
	code := codes.Unavailable
	if bits.OnesCount64(n.codes) == 1 {
		code = codes.Code(bits.TrailingZeros64(n.codes)) //nolint:gosec // below 64
	}
	return status.Error(code, "grpcxds: all attempts failed with a status that the retry policy retries")
}

// unwrap returns the status of gRPC's last attempt, which gRPC wraps, as the interceptors return that of theirs.
func unwrap(err error) error {
	if inner := errors.Unwrap(err); inner != nil && strings.HasPrefix(err.Error(), "max retries exhausted: ") {
		return inner
	}
	return err
}

// detailed returns the status with details of a trailer, or nil.
func detailed(trailer metadata.MD) error {
	values := trailer["grpc-status-details-bin"]
	if len(values) == 0 {
		return nil
	}
	m := new(spb.Status)
	if err := proto.Unmarshal([]byte(values[0]), m); err != nil {
		return nil //nolint:nilerr // no status
	}
	return status.ErrorProto(m) // nil if the code is OK
}

// wrap returns the stream of a call.
func (n native) wrap(s grpc.ClientStream, clientStreams bool, err error) (grpc.ClientStream, error) {
	switch {
	case n.retry == nil:
		return s, err
	case err != nil:
		return nil, n.status(err, nil)
	}
	return nativeStream{s, clientStreams}, nil
}

// A nativeStream is the stream of a call that gRPC retries. When gRPC's last attempt ends before its messages are sent, the methods of
// gRPC's stream return io.EOF within another error, and RecvMsg returns the status afterwards.
type nativeStream struct {
	grpc.ClientStream
	clientStreams bool
}

// SendMsg implements [grpc.ClientStream]. Callers compare the result with io.EOF, and then receive the status. As in gRPC, those that
// send one message only get no error for that.
func (s nativeStream) SendMsg(m any) error {
	switch err := s.ClientStream.SendMsg(m); {
	case !errors.Is(err, io.EOF):
		return unwrap(err)
	case s.clientStreams:
		return io.EOF
	default:
		return nil
	}
}

// RecvMsg implements [grpc.ClientStream].
func (s nativeStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err != io.EOF && errors.Is(err, io.EOF) { //nolint:errorlint // io.EOF itself is the end with OK
		err = s.ClientStream.RecvMsg(m)
	}
	return unwrap(err)
}
