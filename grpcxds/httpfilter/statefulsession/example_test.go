package statefulsession_test

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter/statefulsession"
)

// shop makes calls of one session. All of them go to the endpoint of the first one, if the control plane configures the
// filter.
func shop(ctx context.Context, cc *grpc.ClientConn, methods ...string) error {
	session := new(statefulsession.Session)
	ctx = session.Join(ctx)
	for _, method := range methods {
		if err := cc.Invoke(ctx, method, nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// next returns the context of the next call of a session whose cookies the program keeps, given the headers of the last
// response.
func next(ctx context.Context, header metadata.MD) context.Context {
	for _, set := range header["set-cookie"] {
		ctx = metadata.AppendToOutgoingContext(ctx, "cookie", set)
	}
	return ctx
}

// Package grpcxds registers the filter. The control plane configures its cookie.
func ExampleFilter() {
	fmt.Println(statefulsession.Filter().Config)
	_, _ = shop, next
	// Output: envoy.extensions.filters.http.stateful_session.v3.StatefulSession
}
