package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/internal/loopback"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// istioVersion is the version of Istio's module. Its tags have no form that the Go command takes, so this is a commit.
const istioVersion = "v0.0.0-20260827124520-eed52ebb66ad"

// An istiod is Istio's control plane, with a folder of configuration files in place of Kubernetes.
type istiod struct {
	binary     string
	dir        string         // of all its files
	grpc, http *loopback.Port // istiod keeps them when it restarts
	cluster    *kubernetes
	run        *running
	verbose    bool
}

func newIstiod(ctx context.Context, dir string) (i *istiod, err error) {
	i = &istiod{dir: dir}
	if i.binary, err = (program{"istio.io/istio/pilot/cmd/pilot-discovery", istioVersion}).install(ctx); err != nil {
		return nil, err
	}
	for _, sub := range []string{"config", "staging", "home"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, err
		}
	}
	if i.grpc, err = loopback.Reserve(); err != nil {
		return nil, err
	}
	if i.http, err = loopback.Reserve(); err != nil {
		return nil, err
	}
	if i.cluster, err = startKubernetes(ctx); err != nil {
		return nil, err
	}
	return i, i.cluster.config(filepath.Join(dir, "kubeconfig"))
}

// start starts istiod, and waits until it is ready.
func (i *istiod) start(ctx context.Context) (err error) {
	home := filepath.Join(i.dir, "home")
	i.run, err = launch(ctx, filepath.Join(i.dir, "istiod.log"),
		[]string{"HOME=" + home, "ENABLE_CA_SERVER=false", "PILOT_CERT_PROVIDER=none", "POD_NAMESPACE=istio-system", "INJECT_ENABLED=false"},
		i.binary, "discovery", "--registries=Kubernetes", "--kubeconfig="+filepath.Join(i.dir, "kubeconfig"), "--configDir="+filepath.Join(i.dir, "config"), "--meshConfig="+filepath.Join(i.dir, "mesh.yaml"),
		"--grpcAddr="+i.grpc.Addr(), "--httpAddr="+i.http.Addr(), "--httpsAddr=", "--secureGRPCAddr=", "--monitoringAddr=", "--ctrlz_port=0",
		"--shutdownDuration=1s")
	if err != nil {
		return err
	}
	var failure error
	err = until(ctx, "istiod is ready", func() bool {
		if failure = i.run.ended(); failure != nil {
			return true
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+i.http.Addr()+"/ready", http.NoBody)
		if err != nil {
			return false
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	if failure != nil {
		return failure
	}
	return err
}

// kill ends istiod at once, as a crash does.
func (i *istiod) kill() { i.run.stop(syscall.SIGKILL) }

// close ends istiod and its cluster.
func (i *istiod) close() {
	i.kill()
	i.cluster.stop()
}

// write creates or replaces a configuration file. istiod never sees a part of it.
func (i *istiod) write(name, text string) error {
	staged := filepath.Join(i.dir, "staging", name)
	if err := os.WriteFile(staged, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(staged, filepath.Join(i.dir, "config", name))
}

// known waits until istiod has read a service and its newest endpoint. In the delta variant, istiod forgets the name of a Listener or cluster
// that does not exist yet, so no story may ask too early.
func (i *istiod) known(ctx context.Context, name, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	config, err := i.bootstrap(node{ip: "10.9.9.8", name: "watcher", kind: "sidecar", generator: "grpc"}, whole, "")
	if err != nil {
		return err
	}
	c, err := xdsforge.New(xdsforge.WithTypes(endpoint.Register), xdsforge.WithBootstrap(config), xdsforge.WithPrivateConnections())
	if err != nil {
		return err
	}
	defer c.Close()
	for ev := range endpoint.Watch(ctx, c, clusterOf(name)) {
		if text, err := json.Marshal(ev.Update); err == nil && strings.Contains(string(text), addr) {
			return nil
		}
	}
	return fmt.Errorf("istiod reads the service %s: %w", name, ctx.Err())
}

// remove removes a configuration file.
func (i *istiod) remove(name string) error { return os.Remove(filepath.Join(i.dir, "config", name)) }

// A variant is a variant of the protocol.
type variant string

// The variants.
const (
	whole variant = "state of the world"
	delta variant = "delta"
)

func (v variant) features() string {
	if v == delta {
		return `"xds_v3", "xds.transport.delta"`
	}
	return `"xds_v3"`
}

// A node is the identity of a client of istiod.
type node struct {
	ip        string
	name      string // of the workload
	kind      string // "sidecar" or "router"
	generator string // "grpc" for gRPC, or "" for Envoy
}

// bootstrap returns the bootstrap of a client, as Istio's agent writes it. The certificates are those of a folder, if there is one.
func (i *istiod) bootstrap(n node, v variant, certificates string) (*bootstrap.Config, error) {
	providers := ""
	if certificates != "" {
		providers = fmt.Sprintf(`, "certificate_providers": {"default": {"plugin_name": "file_watcher", "config": {"certificate_file": %q,
			"private_key_file": %q, "ca_certificate_file": %q, "refresh_interval": "900s"}}}`,
			filepath.Join(certificates, "cert.pem"), filepath.Join(certificates, "key.pem"), filepath.Join(certificates, "ca.pem"))
	}
	return bootstrap.Parse(fmt.Appendf(nil, `{
		"xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}], "server_features": [%s]}],
		"node": {"id": "%s~%s~%s.default~default.svc.cluster.local",
			"metadata": {"NAMESPACE": "default", "CLUSTER_ID": "Kubernetes", "GENERATOR": %q, "ISTIO_VERSION": "1.31.0", "SERVICE_ACCOUNT": %q, "LABELS": {"app": %q, "istio": %q}}},
		"server_listener_resource_name_template": "xds.istio.io/grpc/lds/inbound/%%s"%s}`,
		i.grpc.Addr(), v.features(), n.kind, n.ip, n.name, n.generator, n.name, n.name, n.name, providers))
}
