package httpfilter_test

import (
	"context"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
)

// A tracer is the instance of a filter that traces calls and their messages. It survives updates, so a real one owns the
// connection to its collector.
type tracer struct{ name string }

// Interceptor creates the interceptor of a configuration: a prefix for all lines.
func (t *tracer) Interceptor(config, _ any) (httpfilter.ClientInterceptor, error) {
	return tracing{t, config.(string)}, nil
}

// Close closes the connection, after the last call.
func (t *tracer) Close() { fmt.Println(t.name, "is closed") }

type tracing struct {
	*tracer
	prefix string
}

// NewStream wraps the stream of a call.
func (t tracing) NewStream(ctx context.Context, call *httpfilter.ClientCall, next httpfilter.ClientNext) (grpc.ClientStream, error) {
	fmt.Println(t.prefix, "begin", call.Method)
	call.OnDone(func(err error) { fmt.Println(t.prefix, "end", status.Code(err)) })
	s, err := next(metadata.AppendToOutgoingContext(ctx, "trace", t.name))
	if err != nil {
		return nil, err
	}
	return &tracedStream{s, t}, nil
}

type tracedStream struct {
	grpc.ClientStream
	tracing
}

func (s *tracedStream) SendMsg(m any) error {
	fmt.Println(s.prefix, "send", m.(*wrapperspb.StringValue).GetValue())
	return s.ClientStream.SendMsg(m)
}

func (s *tracedStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err == nil {
		fmt.Println(s.prefix, "receive", m.(*wrapperspb.StringValue).GetValue())
	}
	return err
}

// A filter of a channel wraps the stream of each call, unary calls included. It sees each message once, however many
// attempts a retry policy makes.
func ExampleClientInterceptor() {
	f := httpfilter.Filter{
		HTTPFilter: &resource.HTTPFilter{
			Config: "shop.Trace",
			Sides:  resource.ClientSide,
			Parse: func(_ *resource.DecodeContext, c resource.TypedConfig) (any, error) {
				return c.Fields.GetFields()["prefix"].GetStringValue(), nil
			},
		},
		NewClient: func(h httpfilter.Host) (httpfilter.ClientInstance, error) { return &tracer{h.Name}, nil },
	}

	// A channel does the rest: here, for a Listener with the filter, and one call.
	instance, err := f.NewClient(httpfilter.Host{Name: "trace", Target: "xds:///stock"})
	if err != nil {
		fmt.Println(err)
		return
	}
	i, err := instance.Interceptor("stock:", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	call := &httpfilter.ClientCall{Method: "/shop.Stock/Get"}
	s, err := i.NewStream(context.Background(), call, func(context.Context, ...grpc.CallOption) (grpc.ClientStream, error) {
		return &server{}, nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	reply := new(wrapperspb.StringValue)
	_, _ = s.SendMsg(wrapperspb.String("tea")), s.RecvMsg(reply)
	call.Done(nil)
	instance.Close()
	// Output:
	// stock: begin /shop.Stock/Get
	// stock: send tea
	// stock: receive 3 of tea
	// stock: end OK
	// trace is closed
}

// server stands for the rest of a call in the examples.
type server struct {
	grpc.ClientStream
	request string
}

func (s *server) SendMsg(m any) error {
	s.request = m.(*wrapperspb.StringValue).GetValue()
	return nil
}

func (s *server) RecvMsg(m any) error {
	if s.request == "" {
		return io.EOF
	}
	m.(*wrapperspb.StringValue).Value = "3 of " + s.request
	return nil
}
