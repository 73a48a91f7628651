package grpcxds_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/grpcxds"
	"github.com/xdsforge/xdsforge/internal/echo"
)

// folder is a configuration of the target xds:///checkout in YAML, with the port of the endpoint.
const folder = `
- "@type": type.googleapis.com/envoy.config.listener.v3.Listener
  name: checkout
  api_listener:
    api_listener:
      "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
      route_config:
        virtual_hosts:
        - domains: ["*"]
          routes:
          - match: {prefix: ""}
            route: {cluster: checkout}
      http_filters:
      - name: router
        typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
- "@type": type.googleapis.com/envoy.config.cluster.v3.Cluster
  name: checkout
  type: EDS
  eds_cluster_config: {eds_config: {ads: {}}}
- "@type": type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment
  cluster_name: checkout
  endpoints:
  - locality: {zone: here}
    load_balancing_weight: 1
    lb_endpoints:
    - endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: %d}}}
`

// A program reaches xds:///checkout with a folder and a bootstrap, without a control plane and
// without code for it. It follows a change of the folder.
func TestTargetsFromAFolder(t *testing.T) {
	ports := make([]int, 2)
	for i := range ports {
		lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := grpc.NewServer()
		testpb.RegisterTestServiceServer(s, echo.Server{})
		go func() { _ = s.Serve(lis) }()
		t.Cleanup(s.Stop)
		ports[i] = lis.Addr().(*net.TCPAddr).Port
	}
	dir := t.TempDir()
	write := func(port int) {
		path := filepath.Join(dir, ".new")
		if err := os.WriteFile(path, fmt.Appendf(nil, folder, port), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path, filepath.Join(dir, "checkout.yaml")); err != nil {
			t.Fatal(err)
		}
	}
	write(ports[0])
	t.Setenv(bootstrap.EnvContent, fmt.Sprintf(`{"xds_servers": [{"server_uri": "file://%s?poll=20ms&quiet=20ms"}]}`, dir))
	t.Setenv(bootstrap.EnvFile, "")
	cc, err := grpcxds.NewClient("xds:///checkout", grpcxds.WithCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	client := testpb.NewTestServiceClient(cc)
	if _, err := client.EmptyCall(ctx, &testpb.Empty{}, grpc.WaitForReady(true)); err != nil {
		t.Fatalf("the call fails: %v", err)
	}
	write(ports[1])
	for {
		var p peer.Peer
		if _, err := client.EmptyCall(ctx, &testpb.Empty{}, grpc.Peer(&p), grpc.WaitForReady(true)); err != nil {
			t.Fatalf("no call reaches the endpoint of the changed file: %v", err)
		}
		if p.Addr.(*net.TCPAddr).Port == ports[1] {
			return
		}
	}
}

// A folder may have the configuration of an HTTP filter beside the Listener (A104). The channel follows its changes.
func TestExtensionsFromAFolder(t *testing.T) {
	b := newBackend(t, "b")
	dir := t.TempDir()
	write := func(name, content string) {
		path := filepath.Join(dir, ".new")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	filter := func(percent int) {
		write("faults.yaml", fmt.Sprintf(`
"@type": type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig
name: faults
typed_config:
  "@type": type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault
  abort: {grpc_status: 10, percentage: {numerator: %d}}
`, percent))
	}
	filter(100)
	write("checkout.yaml", strings.Replace(fmt.Sprintf(folder, b.port), "http_filters:", `http_filters:
      - name: faults
        config_discovery: {config_source: {ads: {}}}`, 1))
	env := newEnv(t, fmt.Sprintf(`{"xds_servers": [{"server_uri": "file://%s?poll=20ms&quiet=20ms"}]}`, dir))
	cc := newChannel(t, env, "xds:///checkout")
	if _, err := call(soon(t), cc, "/p.S/M"); status.Code(err) != codes.Aborted {
		t.Fatalf("a call with the filter: %v; want ABORTED", err)
	}
	filter(0)
	until(t, cc, "b")
}
