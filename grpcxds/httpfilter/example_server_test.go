package httpfilter_test

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
)

// A rewriter rewrites the requests that a server receives.
type rewriter struct{ from, to string }

// Handle wraps the stream of a call.
func (r rewriter) Handle(ctx context.Context, _ *httpfilter.ServerCall, ss grpc.ServerStream, next httpfilter.ServerNext) error {
	return next(ctx, &rewrittenStream{ss, r})
}

type rewrittenStream struct {
	grpc.ServerStream
	rewriter
}

// RecvMsg changes the request in place: the handler of a unary call has the same message.
func (s *rewrittenStream) RecvMsg(m any) error {
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	if v, ok := m.(*wrapperspb.StringValue); ok {
		v.Value = strings.ReplaceAll(v.GetValue(), s.from, s.to)
	}
	return nil
}

// A filter of a server changes requests before the handler receives them. This one keeps nothing between updates.
func ExampleServerInterceptor() {
	f := httpfilter.Filter{
		HTTPFilter: &resource.HTTPFilter{
			Config: "shop.Rewrite",
			Sides:  resource.ServerSide,
			Parse: func(_ *resource.DecodeContext, c resource.TypedConfig) (any, error) {
				text := func(name string) string { return c.Fields.GetFields()[name].GetStringValue() }
				var v resource.Violations
				if text("from") == "" {
					v.Add((*resource.Path)(nil).Field("from"), "", "must not be empty")
				}
				return rewriter{text("from"), text("to")}, v.Err()
			},
		},
		NewServer: httpfilter.ServerFunc(func(config, _ any) (httpfilter.ServerInterceptor, error) {
			return config.(rewriter), nil
		}),
	}

	// A server does the rest: here, for a Listener with the filter, and one call.
	instance, err := f.NewServer(httpfilter.Host{Name: "rewrite"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer instance.Close()
	i, err := instance.Interceptor(rewriter{"coffee", "tea"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = i.Handle(context.Background(), new(httpfilter.ServerCall), client{}, func(_ context.Context, ss grpc.ServerStream) error {
		request := new(wrapperspb.StringValue)
		defer func() { fmt.Println(request.GetValue()) }()
		return ss.RecvMsg(request)
	})
	fmt.Println(err)
	// Output:
	// two cups of tea
	// <nil>
}

// client stands for the client of a call in the example.
type client struct{ grpc.ServerStream }

func (client) RecvMsg(m any) error {
	m.(*wrapperspb.StringValue).Value = "two cups of coffee"
	return nil
}
