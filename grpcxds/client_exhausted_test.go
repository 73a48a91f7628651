package grpcxds_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// A slowSender makes attempts send their messages after their trailers came, if it is on. It hangs in OutHeader, which gRPC reports
// before it sends the message.
type slowSender struct{ on atomic.Bool }

type attemptKey struct{}

func (*slowSender) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	return context.WithValue(ctx, attemptKey{}, make(chan struct{}))
}

func (*slowSender) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (*slowSender) HandleConn(context.Context, stats.ConnStats)                       {}

func (s *slowSender) HandleRPC(ctx context.Context, e stats.RPCStats) {
	ended, _ := ctx.Value(attemptKey{}).(chan struct{})
	switch e.(type) {
	case *stats.InTrailer:
		close(ended)
	case *stats.OutHeader:
		if s.on.Load() {
			select {
			case <-ended:
			case <-ctx.Done():
			}
		}
	}
}

// After gRPC's own retries, a call has the status of the last attempt, as after those of the interceptors. gRPC returns io.EOF in another
// error if the last attempt ended before its message was sent. A stream has the status nevertheless, and a unary call if it has
// details, or if the policy has one code. Otherwise gRPC keeps the status to itself.
func TestStatusAfterRetriesOfGRPC(t *testing.T) {
	detailed := func(c codes.Code) error {
		s, err := status.New(c, "later").WithDetails(&errdetails.RequestInfo{RequestId: "1"})
		if err != nil {
			t.Fatal(err)
		}
		return s.Err()
	}
	for _, tt := range []struct {
		retryOn string
		failure error // of each attempt
		want    error // of a unary call whose attempts ended before their message was sent
	}{
		{"unavailable", status.Error(codes.Unavailable, "not now"), status.Error(codes.Unavailable, unknownStatus)},
		{"resource-exhausted", status.Error(codes.ResourceExhausted, "not now"), status.Error(codes.ResourceExhausted, unknownStatus)},
		{"unavailable,resource-exhausted", status.Error(codes.ResourceExhausted, "not now"), status.Error(codes.Unavailable, unknownStatus)},
		{"unavailable", detailed(codes.Unavailable), detailed(codes.Unavailable)},
		{"unavailable,resource-exhausted", detailed(codes.ResourceExhausted), detailed(codes.ResourceExhausted)},
	} {
		var count atomic.Int64
		p := newPlane(t)
		p.cluster("c", "c", newBackend(t, "b", grpc.InTapHandle(func(context.Context, *tap.Info) (context.Context, error) {
			count.Add(1)
			return nil, tt.failure
		})))
		p.listener("svc", fmt.Sprintf(`route_config { %s }`, hosts("*", `retry_policy { retry_on: "`+tt.retryOn+`" num_retries { value: 1 } retry_back_off { base_interval { nanos: 1000000 } } } `+to("c"))))
		slow := new(slowSender)
		cc := newChannel(t, newEnv(t, fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s]}`, p.entry())), "xds:///svc", grpc.WithStatsHandler(slow))
		for _, on := range []bool{false, true} {
			slow.on.Store(on)
			count.Store(0)
			var calls sync.WaitGroup
			for range 4 {
				calls.Go(func() {
					for range 25 {
						var trailer metadata.MD
						_, err := call(soon(t), cc, "/p.S/M", grpc.Trailer(&trailer))
						if !sameStatus(err, tt.failure) && !sameStatus(err, tt.want) || len(trailer) == 0 {
							t.Errorf("%s, %v, late messages %t: a unary call has %v with the trailer %v", tt.retryOn, tt.failure, on, err, trailer)
						}
						for _, clientStreams := range []bool{true, false} {
							if err := streamed(soon(t), cc, clientStreams); !sameStatus(err, tt.failure) {
								t.Errorf("%s, %v, late messages %t: a stream (of the client: %t) has %v", tt.retryOn, tt.failure, on, clientStreams, err)
							}
						}
					}
				})
			}
			calls.Wait()
			if n := count.Load(); n != 4*25*3*2 {
				t.Errorf("%s, %v: %d attempts of 300 calls; want 600", tt.retryOn, tt.failure, n)
			}
		}
	}
}

const unknownStatus = "grpcxds: all attempts failed with a status that the retry policy retries"

// sameStatus reports whether an error is a status, and is equal. It does not accept texts of others before that of the status.
func sameStatus(got, want error) bool {
	s, ok := status.FromError(got)
	return ok && proto.Equal(s.Proto(), status.Convert(want).Proto()) && strings.HasPrefix(got.Error(), "rpc error: ")
}

// streamed sends messages by a stream until it ends, and returns its status. If the client sends only one message, the generated
// code of gRPC expects SendMsg to hide that the stream has ended.
func streamed(ctx context.Context, cc *grpc.ClientConn, clientStreams bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := cc.NewStream(ctx, &grpc.StreamDesc{ClientStreams: clientStreams, ServerStreams: true}, "/p.S/M")
	if err != nil {
		return err
	}
	switch err := s.SendMsg(wrapperspb.String("?")); {
	case err == io.EOF && clientStreams: //nolint:errorlint // callers compare so
	case err != nil:
		return fmt.Errorf("SendMsg: %w", err)
	}
	err = s.RecvMsg(new(wrapperspb.StringValue))
	if again := s.RecvMsg(new(wrapperspb.StringValue)); !sameStatus(again, err) && !errors.Is(again, io.EOF) {
		return fmt.Errorf("RecvMsg: %w, and then %w", err, again)
	}
	return err
}
