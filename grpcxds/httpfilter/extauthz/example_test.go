package extauthz_test

import (
	"context"
	"fmt"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/grpcservice"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter/extauthz"
	"github.com/xdsforge/xdsforge/internal/fakeauthz"
)

// check is an authorization server. It allows the calls that have a token.
func check(_ context.Context, m *authv3.CheckRequest) (*authv3.CheckResponse, error) {
	for _, h := range m.GetAttributes().GetRequest().GetHttp().GetHeaderMap().GetHeaders() {
		if h.GetKey() == "token" {
			return &authv3.CheckResponse{}, nil
		}
	}
	return &authv3.CheckResponse{Status: &rpcstatus.Status{Code: int32(codes.PermissionDenied), Message: "no token"}}, nil
}

// The bootstrap allows a control plane to name one authorization server. grpcxds.Register has the filter, so a program only
// needs the bootstrap.
func ExampleFilter() {
	server, err := fakeauthz.Start()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Stop()
	server.Decide(check)
	config, err := bootstrap.Parse(fmt.Appendf(nil, `{
		"xds_servers": [{"server_uri": "xds.example:443", "channel_creds": [{"type": "tls"}]}],
		"allowed_grpc_services": {%q: {"channel_creds": [{"type": "insecure"}]}}
	}`, server.Addr()))
	if err != nil {
		fmt.Println(err)
		return
	}

	// A server does the rest: here, for a Listener with the filter, and two calls.
	f := extauthz.Filter()
	fields, err := structpb.NewStruct(map[string]any{"grpc_service": map[string]any{
		"google_grpc": map[string]any{"target_uri": server.Addr()}, "timeout": "5s",
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	read, err := f.Parse(&resource.DecodeContext{Bootstrap: config}, resource.TypedConfig{Message: f.Config, Fields: fields})
	if err != nil {
		fmt.Println(err)
		return
	}
	instance, err := f.NewServer(httpfilter.Host{Name: "authz", Channel: dial})
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
	defer filter.(interface{ Close() error }).Close()
	for _, md := range []metadata.MD{{}, metadata.Pairs("token", "x")} {
		ctx := metadata.NewIncomingContext(context.Background(), md)
		err := filter.Handle(ctx, &httpfilter.ServerCall{Method: "/shop.Stock/Get"}, new(serverStream), func(context.Context, grpc.ServerStream) error {
			return nil // the handler
		})
		fmt.Println(status.Code(err), err)
	}
	// Output:
	// PermissionDenied rpc error: code = PermissionDenied desc = extauthz: the authorization server denies the call: no token
	// OK <nil>
}

// dial stands for the channels that a server shares among its filters.
func dial(s *grpcservice.Service) (grpc.ClientConnInterface, func(), error) {
	cc, err := grpc.NewClient(s.String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	return cc, func() { _ = cc.Close() }, err
}
