package csds_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/csds"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/memoryads"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/secret"
	"github.com/xdsforge/xdsforge/plugins/standard"
)

// inside is the environment variable that the child process has.
const inside = "XDSFORGE_CSDS_TEST"

// TestMain runs the tests in a child process that has GRPC_XDS_BOOTSTRAP set. grpc-go reads the
// variable when its packages are initialised, and the file when a channel first needs it.
func TestMain(m *testing.M) {
	if os.Getenv(inside) != "" {
		goleak.VerifyTestMain(m)
		return
	}
	code, err := inChild()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// inChild runs this program again, and returns its exit code.
func inChild() (code int, err error) {
	dir, err := os.MkdirTemp("", "csds")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	cmd := exec.CommandContext(context.Background(), os.Args[0], os.Args[1:]...)
	cmd.Env = append(os.Environ(), inside+"=1", bootstrap.EnvFile+"="+filepath.Join(dir, "bootstrap.json"))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return max(cmd.ProcessState.ExitCode(), 1), nil
	}
	return 0, nil
}

// A registrar keeps the service that is registered with it.
type registrar struct{ service any }

// RegisterService implements [grpc.ServiceRegistrar].
func (r *registrar) RegisterService(_ *grpc.ServiceDesc, service any) { r.service = service }

// serve returns the service for environments, to be called without a network.
func serve(t *testing.T, c csds.Config, envs ...*xdsforge.Env) statusv3.ClientStatusDiscoveryServiceServer {
	t.Helper()
	var r registrar
	if err := c.Register(&r, envs...); err != nil {
		t.Fatal(err)
	}
	return r.service.(statusv3.ClientStatusDiscoveryServiceServer)
}

func fetch(t *testing.T, s statusv3.ClientStatusDiscoveryServiceServer, req *statusv3.ClientStatusRequest) *statusv3.ClientStatusResponse {
	t.Helper()
	resp, err := s.FetchClientStatus(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// A world is a control plane in memory and an environment that uses it, in a bubble of synctest.
type world struct {
	*testing.T
	plane  *memoryads.Server
	env    *xdsforge.Env
	client *xdsforge.Client
}

// inWorld runs a test whose control plane has the given server features.
func inWorld(t *testing.T, f func(w *world), features ...string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		plane := memoryads.NewServer(memoryads.Type{URL: cluster.Type().URL(), Complete: true, Wildcard: true},
			memoryads.Type{URL: endpoint.Type().URL()}, memoryads.Type{URL: secret.Type().URL()})
		spec := bootstrap.ServerSpec{URI: "memory", ChannelCreds: []bootstrap.CredsSpec{{Type: "insecure"}}}
		for _, f := range features {
			spec.Features = append(spec.Features, f)
		}
		config, err := bootstrap.New(bootstrap.Spec{Node: &corev3.Node{Id: "node-1"}, Servers: []bootstrap.ServerSpec{spec}})
		if err != nil {
			t.Fatal(err)
		}
		env, err := xdsforge.NewEnv(xdsforge.WithTransport(memoryads.Network{"memory": plane}), xdsforge.WithBootstrap(config),
			xdsforge.WithTypes(standard.Register, secret.Register))
		if err != nil {
			t.Fatal(err)
		}
		w := &world{T: t, plane: plane, env: env}
		if w.client, err = env.NewNamedClient("program"); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = errors.Join(w.client.Close(), env.Close()) }()
		f(w)
	})
}

// set gives the control plane a resource.
func (w *world) set(name string, m proto.Message) {
	w.Helper()
	a, err := anypb.New(m)
	if err != nil {
		w.Fatal(err)
	}
	w.plane.Set(a.GetTypeUrl(), memoryads.Resource{Name: name, Body: a.GetValue()})
	synctest.Wait()
}

// watch watches a resource until the test ends.
func watch[U resource.Update](w *world, typ resource.TypeOf[U], name string) {
	w.Helper()
	stop, err := typ.Subscribe(w.client, name, func(resource.Event[U]) {})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(stop)
	synctest.Wait()
}

// pass lets time pass.
func (w *world) pass(d time.Duration) {
	<-time.NewTimer(d).C
	synctest.Wait()
}

// only returns the only entry of the only client.
func (w *world) only(resp *statusv3.ClientStatusResponse) *statusv3.ClientConfig_GenericXdsConfig {
	w.Helper()
	if len(resp.GetConfig()) != 1 || len(resp.GetConfig()[0].GetGenericXdsConfigs()) != 1 {
		w.Fatalf("response = %v, want one client with one resource", resp)
	}
	return resp.GetConfig()[0].GetGenericXdsConfigs()[0]
}

func validCluster(name, stat string) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name: name, AltStatName: stat, ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{EdsConfig: &corev3.ConfigSource{
			ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
		}},
	}
}

// invalidCluster has an LB policy that gRPC rejects.
func invalidCluster(name string) *clusterv3.Cluster {
	c := validCluster(name, "")
	c.LbPolicy = clusterv3.Cluster_MAGLEV
	return c
}

func assignment(name string) *endpointv3.ClusterLoadAssignment {
	return &endpointv3.ClusterLoadAssignment{ClusterName: name}
}
