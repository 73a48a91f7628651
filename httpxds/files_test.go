package httpxds_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/tls_inspector/v3" // the file names it
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/grpcxds"
	"github.com/xdsforge/xdsforge/httpxds"
)

// staticFolder is the target xds:///svc with endpoints in its cluster, which gRPC does not support.
const staticFolder = `
- "@type": type.googleapis.com/envoy.config.listener.v3.Listener
  name: svc
  api_listener:
    api_listener:
      "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
      stat_prefix: svc
      route_config:
        name: svc
        virtual_hosts:
        - NAME
          domains: ["*"]
          routes:
          - match: {prefix: /}
            route: {cluster: svc}
      http_filters:
      - name: router
        typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
- "@type": type.googleapis.com/envoy.config.cluster.v3.Cluster
  name: svc
  type: STATIC
  load_assignment:
    cluster_name: svc
    endpoints:
    - lb_endpoints:
      - endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: PORT}}}
`

// fileEnv returns an Env of a directory with one file.
func fileEnv(t *testing.T, text string) *xdsforge.Env {
	t.Helper()
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "svc.yaml"), []byte(text), 0o600))
	config, err := bootstrap.Parse(fmt.Appendf(nil, `{"xds_servers": [{"server_uri": "file://%s?poll=20ms&quiet=20ms"}],
		"server_listener_resource_name_template": "server"}`, dir))
	check(t, err)
	env, err := xdsforge.NewEnv(xdsforge.WithBootstrap(config), xdsforge.WithTypes(grpcxds.Register))
	check(t, err)
	t.Cleanup(func() { _ = env.Close() })
	return env
}

func endpointPort(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "from the endpoint") }))
	t.Cleanup(s.Close)
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	check(t, err)
	return port
}

// An HTTP client reads a directory with its own rules, not with those of gRPC.
func TestClientOfAFolder(t *testing.T) {
	text := strings.NewReplacer("PORT", endpointPort(t), "NAME", "name: svc").Replace(staticFolder)
	env := fileEnv(t, text)
	transport, err := httpxds.NewTransport("xds:///svc", httpxds.WithEnv(env))
	check(t, err)
	defer transport.Close()
	if body, err := get(t, transport, "http://svc/"); err != nil || body != "from the endpoint" {
		t.Errorf("%q, %v; want the response of the endpoint of a STATIC cluster", body, err)
	}
	// A gRPC channel of the same Env has gRPC's rules.
	cc, err := grpcxds.Dialer{Env: env}.NewClient("xds:///svc", grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(t, err)
	defer cc.Close()
	err = cc.Invoke(soon(t), "/p.S/M", new(emptypb.Empty), new(emptypb.Empty))
	if err == nil || !strings.Contains(err.Error(), "svc.yaml:21:3: type = STATIC; must be one of EDS, LOGICAL_DNS") {
		t.Errorf("error %v of a gRPC call; want the verdict of gRPC with its position", err)
	}
}

// A resource that HTTP clients reject is rejected when its file is read, with the position of the field.
func TestRejectedFileOfAClient(t *testing.T) {
	text := strings.NewReplacer("PORT", endpointPort(t), "- NAME\n          domains", "- domains").Replace(staticFolder)
	transport, err := httpxds.NewTransport("xds:///svc", httpxds.WithEnv(fileEnv(t, text)))
	check(t, err)
	defer transport.Close()
	_, err = get(t, transport, "http://svc/")
	if err == nil || !strings.Contains(err.Error(), "svc.yaml:11:11") || !strings.Contains(err.Error(), "virtual_hosts[0].name") {
		t.Errorf("error %v; want the position and the path of the virtual host without a name", err)
	}
}

// An HTTP server reads a directory with its own rules, too: gRPC has no listener filters.
func TestServerOfAFolder(t *testing.T) {
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	check(t, err)
	text := fmt.Sprintf(`
"@type": type.googleapis.com/envoy.config.listener.v3.Listener
name: server
address: {socket_address: {address: 127.0.0.1, port_value: %d}}
listener_filters:
- name: tls
  typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector}
filter_chains:
- filters:
  - name: hcm
    typed_config:
      "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
      stat_prefix: s
      route_config: {name: r, virtual_hosts: [{name: v, domains: ["*"], routes: [{match: {prefix: /}, non_forwarding_action: {}}]}]}
      http_filters: [{name: router, typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}]
`, lis.Addr().(*net.TCPAddr).Port)
	modes := make(chan error, 100)
	server, err := httpxds.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "served") }),
		httpxds.WithEnv(fileEnv(t, text)), httpxds.OnMode(func(_ net.Addr, err error) { modes <- err }))
	check(t, err)
	served := make(chan error, 1)
	go func() { served <- server.Serve(lis) }()
	defer func() { _, _ = server.Close(), <-served }()
	for end := time.NewTimer(20 * time.Second).C; ; {
		select {
		case err := <-modes:
			if err != nil {
				t.Log("not serving:", err)
				continue
			}
		case <-end:
			t.Fatal("the server does not serve")
		}
		break
	}
	if body, err := get(t, &http.Transport{DisableKeepAlives: true}, "http://"+lis.Addr().String()+"/"); err != nil || body != "served" {
		t.Errorf("%q, %v; want the response of the handler", body, err)
	}
}
