package extproc_test

import (
	"context"
	"fmt"
	"io"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/grpcservice"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter/extproc"
	"github.com/xdsforge/xdsforge/internal/fakeextproc"
)

// process is a processor that adds a header to each call.
func process(s fakeextproc.Stream) error {
	if _, err := s.Recv(); err != nil {
		return err
	}
	return s.Send(&extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_RequestHeaders{
		RequestHeaders: &extprocv3.HeadersResponse{Response: &extprocv3.CommonResponse{HeaderMutation: &extprocv3.HeaderMutation{
			SetHeaders: []*corev3.HeaderValueOption{{Header: &corev3.HeaderValue{Key: "x-user", RawValue: []byte("bob")}}},
		}}},
	}})
}

// The bootstrap allows a control plane to name one processor. grpcxds.Register has the filter, so a program only needs the
// bootstrap.
func ExampleFilter() {
	server, err := fakeextproc.Start()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Stop()
	server.Handle(process)
	config, err := bootstrap.Parse(fmt.Appendf(nil, `{
		"xds_servers": [{"server_uri": "xds.example:443", "channel_creds": [{"type": "tls"}]}],
		"allowed_grpc_services": {%q: {"channel_creds": [{"type": "insecure"}]}}
	}`, server.Addr()))
	if err != nil {
		fmt.Println(err)
		return
	}

	// A channel does the rest: here, for a Listener with the filter, and one call.
	f := extproc.Filter()
	fields, err := structpb.NewStruct(map[string]any{
		"grpc_service":    map[string]any{"google_grpc": map[string]any{"target_uri": server.Addr()}},
		"processing_mode": map[string]any{"response_header_mode": "SKIP"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	read, err := f.Parse(&resource.DecodeContext{Bootstrap: config}, resource.TypedConfig{Message: f.Config, Fields: fields})
	if err != nil {
		fmt.Println(err)
		return
	}
	instance, err := f.NewClient(httpfilter.Host{Name: "proc", Target: "xds:///stock", Channel: dial})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer instance.Close()
	filter, err := instance.Interceptor(read, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer filter.(io.Closer).Close()
	call := &httpfilter.ClientCall{Method: "/shop.Stock/Get", ServerStreams: true}
	s, err := filter.NewStream(context.Background(), call, func(ctx context.Context, _ ...grpc.CallOption) (grpc.ClientStream, error) {
		md, _ := metadata.FromOutgoingContext(ctx)
		fmt.Println("the call has the user", md["x-user"])
		return rest{}, nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = s.RecvMsg(new(wrapperspb.StringValue))
	call.Done(nil)
	fmt.Println(err)
	// Output:
	// the call has the user [bob]
	// EOF
}

// rest stands for the rest of the call.
type rest struct{ grpc.ClientStream }

func (rest) Header() (metadata.MD, error) { return metadata.MD{}, nil }
func (rest) Trailer() metadata.MD         { return nil }
func (rest) RecvMsg(any) error            { return io.EOF }

// dial stands for the channels that a channel shares among its filters.
func dial(s *grpcservice.Service) (grpc.ClientConnInterface, func(), error) {
	cc, err := grpc.NewClient(s.String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	return cc, func() { _ = cc.Close() }, err
}

// A server runs the filter in its filter chains. The handler sees the headers of the processor.
func ExampleFilter_server() {
	server, err := fakeextproc.Start()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Stop()
	server.Handle(process)
	config, err := bootstrap.Parse(fmt.Appendf(nil, `{
		"xds_servers": [{"server_uri": "xds.example:443", "channel_creds": [{"type": "tls"}]}],
		"allowed_grpc_services": {%q: {"channel_creds": [{"type": "insecure"}]}}
	}`, server.Addr()))
	if err != nil {
		fmt.Println(err)
		return
	}

	// A server does the rest: here, for a Listener with the filter, and one call.
	f := extproc.Filter()
	fields, err := structpb.NewStruct(map[string]any{
		"grpc_service":    map[string]any{"google_grpc": map[string]any{"target_uri": server.Addr()}},
		"processing_mode": map[string]any{"response_header_mode": "SKIP"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	read, err := f.Parse(&resource.DecodeContext{Bootstrap: config}, resource.TypedConfig{Message: f.Config, Fields: fields})
	if err != nil {
		fmt.Println(err)
		return
	}
	instance, err := f.NewServer(httpfilter.Host{Name: "proc", Channel: dial})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer instance.Close()
	filter, err := instance.Interceptor(read, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer filter.(io.Closer).Close()
	err = filter.Handle(context.Background(), &httpfilter.ServerCall{Method: "/shop.Stock/Get"}, accepted{}, func(ctx context.Context, _ grpc.ServerStream) error {
		md, _ := metadata.FromIncomingContext(ctx)
		fmt.Println("the handler sees the user", md["x-user"])
		return nil
	})
	fmt.Println(err)
	// Output:
	// the handler sees the user [bob]
	// <nil>
}

// accepted stands for the stream of a call.
type accepted struct{ grpc.ServerStream }

func (accepted) SetTrailer(metadata.MD) {}
