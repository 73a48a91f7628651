package main

import (
	"context"
	"crypto/x509"
	_ "embed"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/internal/loopback"
	"github.com/xdsforge/xdsforge/internal/testca"
)

// gatewayVersion is the version of Envoy Gateway.
const gatewayVersion = "v1.9.1"

// gatewayAddr is the address of its xDS server, which has no option.
const gatewayAddr = "localhost:18000"

// A gateway is Envoy Gateway without Kubernetes: it reads the resources of a folder. Its infrastructure runs on this machine, so it
// would download and run Envoy. A proxy that does not exist keeps it from that, and it continues without Envoy.
type gateway struct {
	dir string
	run *running
}

//go:embed gateway.yaml
var gatewayResources string

// runGateway tells the stories with Envoy Gateway.
func runGateway(ctx context.Context, dir string, o options) error {
	g := &gateway{dir: dir}
	if err := g.start(ctx); err != nil {
		return err
	}
	defer g.run.stop(syscall.SIGTERM)
	var list []story
	for _, v := range []variant{whole, delta} {
		list = append(list, story{"Envoy's resources, " + string(v), func(ctx context.Context) (string, error) { return g.follow(ctx, v) }})
	}
	return tellAll(ctx, o, list)
}

// start writes the configuration and starts Envoy Gateway.
func (g *gateway) start(ctx context.Context) error {
	binary, err := (program{"github.com/envoyproxy/gateway/cmd/envoy-gateway", gatewayVersion}).install(ctx)
	if err != nil {
		return err
	}
	admin, err := loopback.Reserve()
	if err != nil {
		return err
	}
	defer admin.Close()
	_, port, err := net.SplitHostPort(admin.Addr())
	if err != nil {
		return err
	}
	config := filepath.Join(g.dir, "envoy-gateway.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, `apiVersion: gateway.envoyproxy.io/v1alpha1
kind: EnvoyGateway
gateway: {controllerName: gateway.envoyproxy.io/gatewayclass-controller}
provider:
  type: Custom
  custom:
    resource: {type: File, file: {paths: [%[1]s/resources]}}
    infrastructure: {type: Host, host: {configHome: %[1]s/config, dataHome: %[1]s/data, stateHome: %[1]s/state, runtimeDir: %[1]s/run}}
admin: {address: {host: 127.0.0.1, port: %[2]s}}
extensionApis: {enableBackend: true, enableEnvoyPatchPolicy: true}
`, g.dir, port), 0o600); err != nil {
		return err
	}
	if err := g.certificates(); err != nil {
		return err
	}
	for _, sub := range []string{"resources", "staging"} {
		if err := os.Mkdir(filepath.Join(g.dir, sub), 0o700); err != nil {
			return err
		}
	}
	if err := g.write(gatewayResources); err != nil {
		return err
	}
	g.run, err = launch(ctx, filepath.Join(g.dir, "envoy-gateway.log"), []string{"HOME=" + g.dir, "HTTPS_PROXY=http://127.0.0.1:1"}, binary, "server", "--config-path", config)
	if err != nil {
		return err
	}
	var failure error
	err = until(ctx, "Envoy Gateway listens", func() bool {
		if failure = g.run.ended(); failure != nil {
			return true
		}
		c, err := new(net.Dialer).DialContext(ctx, "tcp", gatewayAddr)
		if err == nil {
			_ = c.Close() // it only shows that the program listens
		}
		return err == nil
	})
	if failure != nil {
		return failure
	}
	return err
}

// certificates writes the certificates of Envoy Gateway and of its clients. Those of "certgen --local" have no name of this machine.
func (g *gateway) certificates() error {
	ca, err := testca.New("gateway")
	if err != nil {
		return err
	}
	for _, name := range []string{"envoy-gateway", "envoy"} {
		dir := filepath.Join(g.dir, "config", "certs", name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		cert, err := ca.Issue(x509.Certificate{DNSNames: []string{"localhost"}})
		if err != nil {
			return err
		}
		if err := testca.WritePair(dir, cert); err != nil {
			return err
		}
		for from, to := range map[string]string{"cert.pem": "tls.crt", "key.pem": "tls.key"} {
			if err := os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)); err != nil {
				return err
			}
		}
		if err := testca.Write(filepath.Join(dir, "ca.crt"), ca.PEM()); err != nil {
			return err
		}
	}
	return nil
}

// write replaces the file with all resources.
func (g *gateway) write(text string) error {
	staged := filepath.Join(g.dir, "staging", "all.yaml")
	if err := os.WriteFile(staged, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(staged, filepath.Join(g.dir, "resources", "all.yaml"))
}

// bootstrap returns the bootstrap of a client. Envoy Gateway has resources only for the clusters of nodes that are named as its Gateways.
func (g *gateway) bootstrap(v variant) (*bootstrap.Config, error) {
	certs := filepath.Join(g.dir, "config", "certs", "envoy")
	return bootstrap.Parse(fmt.Appendf(nil, `{"node": {"id": "client", "cluster": "default/eg"}, "xds_servers": [{"server_uri": %q, "server_features": [%s],
		"channel_creds": [{"type": "tls", "config": {"ca_certificate_file": "%[3]s/ca.crt", "certificate_file": "%[3]s/tls.crt", "private_key_file": "%[3]s/tls.key"}}]}]}`,
		gatewayAddr, v.features(), certs))
}

// follow watches everything that Envoy Gateway has, and a change of its file.
func (g *gateway) follow(ctx context.Context, v variant) (string, error) {
	if err := g.write(gatewayResources); err != nil {
		return "", err
	}
	config, err := g.bootstrap(v)
	if err != nil {
		return "", err
	}
	seen, err := observe(ctx, config, change{"ClusterLoadAssignment httproute/default/web/rule/0", "127.0.0.1:3001", func() error {
		return g.write(strings.ReplaceAll(gatewayResources, "port: 3001", "port: 3002"))
	}, "127.0.0.1:3002"})
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, g.run.tail())
	}
	return seen, nil
}
