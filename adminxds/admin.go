package adminxds

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/channelz/grpc_channelz_v1"
	channelz "google.golang.org/grpc/channelz/service"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/csds"
)

// A Config sets up the services. Its zero value is that of [Register].
type Config struct {
	// CSDS sets up the service for the state of xDS clients.
	CSDS csds.Config
	// Health is the health service. Nil means one that reports SERVING for the gRPC server as a
	// whole, and knows no other service.
	Health grpc_health_v1.HealthServer
}

// Register registers CSDS for the clients of the environments, channelz and health. Without
// environments, CSDS serves those that the process has in use at the time of a request. Register
// keeps a channelz and a health service that the gRPC server has already. It returns an error, and
// registers nothing, if the gRPC server has a CSDS already or an environment was not made by
// xdsforge.NewEnv.
func Register(r grpc.ServiceRegistrar, envs ...*xdsforge.Env) error {
	return Config{}.Register(r, envs...)
}

// Register registers the services as the function Register does.
func (c Config) Register(r grpc.ServiceRegistrar, envs ...*xdsforge.Env) error {
	if err := c.CSDS.Register(r, envs...); err != nil {
		return err
	}
	if !has(r, &grpc_channelz_v1.Channelz_ServiceDesc) {
		channelz.RegisterChannelzServiceToServer(r)
	}
	if !has(r, &grpc_health_v1.Health_ServiceDesc) {
		if c.Health == nil {
			c.Health = health.NewServer()
		}
		grpc_health_v1.RegisterHealthServer(r, c.Health)
	}
	return nil
}

// has reports whether a gRPC server has a service. It is false if the registrar does not tell.
func has(r grpc.ServiceRegistrar, desc *grpc.ServiceDesc) bool {
	s, ok := r.(interface {
		GetServiceInfo() map[string]grpc.ServiceInfo
	})
	if !ok {
		return false
	}
	_, registered := s.GetServiceInfo()[desc.ServiceName]
	return registered
}
