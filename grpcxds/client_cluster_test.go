package grpcxds_test

import (
	"crypto/x509"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/aggregate/v3"    // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3" // for prototext
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/xdsforge/xdsforge/grpcxds"
	"github.com/xdsforge/xdsforge/internal/testca"
)

// Connections are secured as the cluster says, and servers verified (A29).
func TestTLSOfClusters(t *testing.T) {
	ca, err := testca.New("ca")
	if err != nil {
		t.Fatal(err)
	}
	identity, err := ca.Issue(x509.Certificate{DNSNames: []string{"server.example"}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := testca.Write(file, ca.PEM()); err != nil {
		t.Fatal(err)
	}
	p := newPlane(t)
	pool := newPool(t, fmt.Sprintf(`{"xds_servers": [%s], "certificate_providers": {
		"roots": {"plugin_name": "file_watcher", "config": {"ca_certificate_file": %q}}}}`, p.entry(), file))
	b := newBackend(t, "b", grpc.Creds(credentials.NewServerTLSFromCert(&identity)))
	for name, want := range map[string]string{"server.example": "b", "other.example": ""} {
		p.listener(name, fmt.Sprintf(`route_config { %s }`, hosts(name, to(name))))
		p.cluster(name, name, b)
		p.set(name, new(clusterv3.Cluster), `name: %q type: EDS eds_cluster_config { eds_config { ads {} } } transport_socket { name: "tls" typed_config {
			[type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext] { common_tls_context { validation_context {
				ca_certificate_provider_instance { instance_name: "roots" } match_subject_alt_names { exact: %q } } } } } }`, name, name)
		cc, err := grpcxds.NewClient("xds:///"+name, grpcxds.DialPool(pool), grpc.WithTransportCredentials(grpcxds.TransportCredentials(nil)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := call(soon(t), cc, "/p.S/M")
		if got != want || want == "" && !strings.Contains(err.Error(), "handshake") {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
		_ = cc.Close()
	}
}

// An aggregate cluster goes on to the next of its clusters; one of them has its name
// resolved (A37, A75).
func TestAggregateCluster(t *testing.T) {
	p, b := newPlane(t), newBackend(t, "b")
	p.listener("svc", fmt.Sprintf(`route_config { %s }`, hosts("svc", to("all"))))
	p.set("all", new(clusterv3.Cluster), `name: "all" cluster_type { name: "aggregate" typed_config {
		[type.googleapis.com/envoy.extensions.clusters.aggregate.v3.ClusterConfig] { clusters: ["closed", "dns"] } } }`)
	p.cluster("closed", "closed", &backend{port: 1})
	p.set("dns", new(clusterv3.Cluster), `name: "dns" type: LOGICAL_DNS load_assignment { endpoints { lb_endpoints { endpoint {
		address { socket_address { address: "127.0.0.1" port_value: %d } } } } } }`, b.port)
	until(t, newChannel(t, newPool(t, fmt.Sprintf(`{"xds_servers": [%s]}`, p.entry())), "xds:///svc"), "b")
}
