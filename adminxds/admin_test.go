package adminxds_test

import (
	"net"
	"testing"

	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/channelz/grpc_channelz_v1"
	channelz "google.golang.org/grpc/channelz/service"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	_ "google.golang.org/grpc/xds" // adds a CSDS to grpc-go's package admin
	grpccsds "google.golang.org/grpc/xds/csds"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/adminxds"
	"github.com/xdsforge/xdsforge/csds"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/grpcxds"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/xdstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newEnv returns an environment with a client of the program.
func newEnv(t *testing.T) *xdsforge.Env {
	t.Helper()
	env := xdstest.Start(t, cluster.Type()).Env(xdsforge.WithTypes(grpcxds.Register))
	c, err := env.NewNamedClient("program")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return env
}

// A client reads all three services, in a program that links grpc-go's own xDS.
func TestServices(t *testing.T) {
	env := newEnv(t)
	theirs, err := grpccsds.NewClientStatusDiscoveryServer()
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	s := grpc.NewServer()
	config := adminxds.Config{CSDS: csds.Config{Others: []statusv3.ClientStatusDiscoveryServiceServer{theirs}}}
	if err := config.Register(s, env); err != nil {
		t.Fatal(err)
	}
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve(lis) }()
	defer s.Stop()
	cc, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()

	clients, err := statusv3.NewClientStatusDiscoveryServiceClient(cc).FetchClientStatus(t.Context(), new(statusv3.ClientStatusRequest))
	if err != nil || len(clients.GetConfig()) != 1 || clients.GetConfig()[0].GetClientScope() != "program" {
		t.Errorf("CSDS: %v, %v; want the client of the program", clients, err)
	}
	servers, err := grpc_channelz_v1.NewChannelzClient(cc).GetServers(t.Context(), new(grpc_channelz_v1.GetServersRequest))
	if err != nil || len(servers.GetServer()) == 0 {
		t.Errorf("channelz: %v, %v; want the gRPC servers of this test", servers, err)
	}
	state, err := grpc_health_v1.NewHealthClient(cc).Check(t.Context(), new(grpc_health_v1.HealthCheckRequest))
	if err != nil || state.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("health: %v, %v; want SERVING", state, err)
	}
}

// Register keeps services of the program, and never registers a service twice.
func TestRegister(t *testing.T) {
	env := newEnv(t)
	s := grpc.NewServer()
	defer s.Stop()
	channelz.RegisterChannelzServiceToServer(s)
	grpc_health_v1.RegisterHealthServer(s, health.NewServer())
	if err := adminxds.Register(s, env); err != nil {
		t.Fatal(err)
	}
	if err := adminxds.Register(s, env); err == nil {
		t.Error("the second Register returned no error")
	}
	if n := len(s.GetServiceInfo()); n != 3 {
		t.Errorf("%d services, want 3: %v", n, s.GetServiceInfo())
	}
	var r registrar
	own := health.NewServer()
	if err := (adminxds.Config{Health: own}).Register(&r, env); err != nil || len(r) != 3 || r[2] != own {
		t.Errorf("services = %v, %v; want three with the health service of the program", r, err)
	}
	if err := adminxds.Register(new(registrar), nil); err == nil {
		t.Error("Register accepts an environment that is nil")
	}
}

// A registrar keeps the services that are registered with it.
type registrar []any

// RegisterService implements [grpc.ServiceRegistrar].
func (r *registrar) RegisterService(_ *grpc.ServiceDesc, service any) { *r = append(*r, service) }

// The services work on a gRPC server that xDS configures.
func TestServerOfXDS(t *testing.T) {
	config, err := bootstrap.Parse([]byte(`{"node": {"id": "n"}, "server_listener_resource_name_template": "%s",
		"xds_servers": [{"server_uri": "127.0.0.1:1", "channel_creds": [{"type": "insecure"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	env, err := xdsforge.NewEnv(xdsforge.WithBootstrap(config), xdsforge.WithTypes(grpcxds.Register))
	if err != nil {
		t.Fatal(err)
	}
	defer env.Close()
	s, err := grpcxds.ServerConfig{Env: env}.NewServer()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	for _, want := range []bool{true, false} {
		if err := adminxds.Register(s, env); (err == nil) != want {
			t.Errorf("Register: %v, want success: %v", err, want)
		}
	}
	if n := len(s.GetServiceInfo()); n != 3 {
		t.Errorf("%d services, want 3", n)
	}
}
