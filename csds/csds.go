package csds

import (
	"context"
	"errors"
	"fmt"
	"io"

	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/internal/redact"
)

// A Config sets up the service. Its zero value is that of [Register].
type Config struct {
	// ShowSensitive disables the redaction of fields that are marked as sensitive, such as private
	// keys.
	ShowSensitive bool
	// Others are further services whose clients are part of the responses, such as grpc-go's
	// csds.ClientStatusDiscoveryServer. Redaction and exclude_resource_contents apply to them, too.
	Others []statusv3.ClientStatusDiscoveryServiceServer
}

// Register registers the service for the clients of the environments. If there are none, it serves
// the environments that the process has in use at the time of a request. Register returns an error,
// and registers nothing, if the gRPC server has a CSDS already or an environment was not made by
// xdsforge.NewEnv.
func Register(r grpc.ServiceRegistrar, envs ...*xdsforge.Env) error {
	return Config{}.Register(r, envs...)
}

// Register registers the service as the function Register does.
func (c Config) Register(r grpc.ServiceRegistrar, envs ...*xdsforge.Env) error {
	for i, e := range envs {
		if e == nil || e.Bootstrap() == nil {
			return fmt.Errorf("csds: environment %d was not made by xdsforge.NewEnv", i+1)
		}
	}
	for i, o := range c.Others {
		if o == nil {
			return fmt.Errorf("csds: Others[%d] is nil", i)
		}
	}
	name := statusv3.ClientStatusDiscoveryService_ServiceDesc.ServiceName
	if s, ok := r.(interface {
		GetServiceInfo() map[string]grpc.ServiceInfo
	}); ok {
		if _, twice := s.GetServiceInfo()[name]; twice {
			return fmt.Errorf("csds: the gRPC server has a service %s already; register one of them, and give the other one to csds.Config.Others", name)
		}
	}
	statusv3.RegisterClientStatusDiscoveryServiceServer(r, &service{config: c, envs: envs})
	return nil
}

// A service implements CSDS.
type service struct {
	statusv3.UnimplementedClientStatusDiscoveryServiceServer

	config Config
	envs   []*xdsforge.Env // empty: all
}

// FetchClientStatus implements the unary method.
func (s *service) FetchClientStatus(ctx context.Context, req *statusv3.ClientStatusRequest) (*statusv3.ClientStatusResponse, error) {
	if len(req.GetNodeMatchers()) > 0 {
		return nil, grpcstatus.Error(codes.InvalidArgument, "csds: node_matchers is set; it must be empty, because a program is one node (gRFC A40)")
	}
	resp := new(statusv3.ClientStatusResponse)
	r := redact.Redactor{}
	envs := s.envs
	if len(envs) == 0 {
		envs = xdsforge.Envs()
	}
	for _, e := range envs {
		snapshots, err := e.Snapshots(ctx)
		if cause := ctx.Err(); cause != nil {
			return nil, grpcstatus.FromContextError(cause).Err()
		}
		if err != nil {
			return nil, grpcstatus.Error(codes.Unavailable, err.Error())
		}
		for _, snapshot := range snapshots {
			resp.Config = append(resp.Config, clientConfig(snapshot))
		}
	}
	for _, o := range s.config.Others {
		other, err := o.FetchClientStatus(ctx, req)
		if err != nil {
			return nil, err
		}
		resp.Config = append(resp.Config, other.GetConfig()...)
	}
	for _, c := range resp.GetConfig() {
		for _, g := range c.GetGenericXdsConfigs() {
			switch {
			case req.GetExcludeResourceContents():
				g.XdsConfig = nil
			case !s.config.ShowSensitive && g.GetXdsConfig() != nil:
				g.XdsConfig = r.Resource(g.GetXdsConfig())
			}
		}
	}
	return resp, nil
}

// StreamClientStatus answers each request once, until the client closes its side.
func (s *service) StreamClientStatus(stream statusv3.ClientStatusDiscoveryService_StreamClientStatusServer) error {
	for {
		req, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		resp, err := s.FetchClientStatus(stream.Context(), req)
		if err != nil {
			return err
		}
		if err := stream.Send(resp); err != nil {
			return err
		}
	}
}
