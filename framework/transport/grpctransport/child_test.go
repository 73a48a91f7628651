package grpctransport

import (
	"context"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// The streams of a connection have the options for child channels. The settings of the framework and the options for
// control planes override them (A110).
func TestChildDialOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.serve(t, 3)
		var methods []string
		count := func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			methods = append(methods, method)
			return streamer(ctx, desc, cc, method, opts...)
		}
		overridden := []grpc.DialOption{
			grpc.WithContextDialer(nil), grpc.WithDefaultCallOptions(grpc.CallContentSubtype("unknown"), grpc.MaxCallRecvMsgSize(0)),
			grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithCredentialsBundle(insecure.NewBundle()),
		}
		option := WithChildDialOptions(append(overridden, grpc.WithChainStreamInterceptor(count))...)
		c := m.dial(t, option)
		opened(t, openAll(t, c, 1, true))
		if len(methods) != 1 {
			t.Errorf("the interceptor saw the streams %q; want one", methods)
		}
		if n := len(New(option).ChildDialOptions()); n != len(overridden)+1 {
			t.Errorf("the transport has %d options for child channels; want %d", n, len(overridden)+1)
		}
	})
}
