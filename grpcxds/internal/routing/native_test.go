package routing

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// An exhausted stream fails as gRPC's last attempt does: the first call of a method has the first error.
type exhausted struct {
	grpc.ClientStream
	errs []error
}

func (e *exhausted) SendMsg(any) error { return e.RecvMsg(nil) }

func (e *exhausted) RecvMsg(any) error {
	err := e.errs[0]
	if len(e.errs) > 1 {
		e.errs = e.errs[1:]
	}
	return err
}

// The errors of gRPC after its last attempt.
var (
	last         = status.Error(codes.Aborted, "not now")
	other        = status.Error(codes.Internal, "encoding")
	errSent      = fmt.Errorf("max retries exhausted: failed after 3 attempts: %w", io.EOF)
	errExhausted = fmt.Errorf("max retries exhausted: failed after 3 attempts: %w", last)
	errOfProgram = fmt.Errorf("an interceptor of the program: %w", last)
)

// After gRPC's last attempt, SendMsg returns io.EOF itself, or nothing if the client sends one message. RecvMsg returns the status.
func TestStreamAfterNativeRetries(t *testing.T) {
	for _, tt := range []struct{ in, many, one error }{
		{errSent, io.EOF, nil},
		{io.EOF, io.EOF, nil},
		{errExhausted, last, last},
		{errOfProgram, errOfProgram, errOfProgram},
		{other, other, other},
		{nil, nil, nil},
	} {
		for _, clientStreams := range []bool{true, false} {
			want := tt.one
			if clientStreams {
				want = tt.many
			}
			s := nativeStream{&exhausted{errs: []error{tt.in}}, clientStreams}
			if got := s.SendMsg(nil); got != want { //nolint:errorlint // callers compare so
				t.Errorf("SendMsg (many messages: %t) = %v after %v; want %v", clientStreams, got, tt.in, want)
			}
		}
	}
	for _, tt := range []struct {
		in   []error
		want error
	}{
		{[]error{errSent, last}, last},
		{[]error{errExhausted, other}, last},
		{[]error{io.EOF, other}, io.EOF},
		{[]error{nil, other}, nil},
		{[]error{errOfProgram, other}, errOfProgram},
	} {
		if got := (nativeStream{&exhausted{errs: slices.Clone(tt.in)}, true}).RecvMsg(nil); got != tt.want { //nolint:errorlint // callers compare so
			t.Errorf("RecvMsg = %v after %v; want %v", got, tt.in, tt.want)
		}
	}
}

// A unary call has the status of the last attempt, or a code of the policy if gRPC does not return it. Errors of calls that gRPC does not
// retry stay.
func TestStatusAfterNativeRetries(t *testing.T) {
	detail, err := status.New(codes.Aborted, "quota").WithDetails(wrapperspb.String("later"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := proto.Marshal(detail.Proto())
	if err != nil {
		t.Fatal(err)
	}
	retries := func(c ...codes.Code) *call {
		r := new(retry)
		for _, one := range c {
			r.codes |= 1 << one
		}
		return &call{plan: &plan{Own: settings{retry: r}}}
	}
	const key = "grpc-status-details-bin"
	unknown := func(c codes.Code) error {
		return status.Error(c, "grpcxds: all attempts failed with a status that the retry policy retries")
	}
	for _, tt := range []struct {
		call    *call
		err     error
		trailer metadata.MD
		want    error
	}{
		{retries(codes.Aborted), errSent, nil, unknown(codes.Aborted)},
		{retries(codes.Aborted, codes.Unavailable), errSent, nil, unknown(codes.Unavailable)},
		{retries(codes.Aborted, codes.Unavailable), errSent, metadata.Pairs(key, string(text)), detail.Err()},
		{retries(codes.Aborted), errSent, metadata.Pairs(key, "\xff"), unknown(codes.Aborted)},
		{retries(codes.Aborted), errSent, metadata.Pairs(key, ""), unknown(codes.Aborted)}, // OK
		{retries(codes.Aborted), errExhausted, nil, last},
		{retries(codes.Aborted), errOfProgram, nil, errOfProgram},
		{retries(codes.Aborted), other, metadata.Pairs(key, string(text)), other},
		{retries(codes.Aborted), nil, nil, nil},
		{new(call), errSent, metadata.Pairs(key, string(text)), errSent},
		{new(call), errExhausted, nil, errExhausted},
	} {
		got := tt.call.native().status(tt.err, tt.trailer)
		if !errors.Is(got, tt.want) || got != nil && got.Error() != tt.want.Error() {
			t.Errorf("%v after %v with the trailer %v; want %v", got, tt.err, tt.trailer, tt.want)
		}
	}
}
