package httpfilter_test

import (
	"context"
	"errors"
	"testing"

	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
)

// A call goes on after an interceptor without an error, and ends with its error.
func TestBefore(t *testing.T) {
	for _, want := range []error{nil, errors.New("refused")} {
		before := func(ctx context.Context) (context.Context, error) { return ctx, want }
		client, server := 0, 0
		_, err := httpfilter.ClientBefore(func(ctx context.Context, _ *httpfilter.ClientCall) (context.Context, error) {
			return before(ctx)
		}).NewStream(t.Context(), new(httpfilter.ClientCall), func(context.Context, ...grpc.CallOption) (grpc.ClientStream, error) {
			client++
			return nil, nil //nolint:nilnil // the test does not use the stream
		})
		if (client == 1) != (want == nil) || !errors.Is(err, want) {
			t.Errorf("client: with the error %v, next is called %d times, and the call returns %v", want, client, err)
		}
		err = httpfilter.ServerBefore(func(ctx context.Context, _ *httpfilter.ServerCall) (context.Context, error) {
			return before(ctx)
		}).Handle(t.Context(), new(httpfilter.ServerCall), nil, func(context.Context, grpc.ServerStream) error {
			server++
			return nil
		})
		if (server == 1) != (want == nil) || !errors.Is(err, want) {
			t.Errorf("server: with the error %v, next is called %d times, and the call returns %v", want, server, err)
		}
	}
}

// A call has the options that interceptors add. No call has none.
func TestOptions(t *testing.T) {
	var c *httpfilter.ClientCall
	if got := c.Options(); got != nil {
		t.Errorf("no call has the options %v", got)
	}
	c = new(httpfilter.ClientCall)
	c.AddOptions(grpc.WaitForReady(true))
	if got := c.Options(); len(got) != 1 {
		t.Errorf("the call has the options %v, want the one that was added", got)
	}
}
