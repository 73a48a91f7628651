// Command promcheck lets Prometheus scrape a client, and checks that the alert rules and the queries of the dashboard
// find its metrics. It runs the program prometheus, of Debian's package of that name, on loopback.
//
//	go run . -monitoring ../../docs/monitoring
//
// A client has a rejected resource, loses its control plane and falls back to another one. The exit code is 0 only if
// every alert is active, and if Prometheus accepts every query of the dashboard.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
)

// timeout is the limit for the whole run.
const timeout = 90 * time.Second

func main() {
	monitoring := flag.String("monitoring", "docs/monitoring", "the folder of alerts.yaml and dashboard.json")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	err := run(ctx, *monitoring)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "promcheck:", err)
		os.Exit(1)
	}
	fmt.Println("promcheck: every alert is active, and every query of the dashboard is valid")
}

func run(ctx context.Context, monitoring string) (err error) {
	dir, err := os.MkdirTemp("", "promcheck")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	registry := prometheus.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(registry))
	if err != nil {
		return err
	}
	w, err := newWorld(ctx, sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	metrics, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	handler := &http.Server{Handler: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), ReadHeaderTimeout: time.Second}
	go func() { _ = handler.Serve(metrics) }() // it ends with Close
	defer func() { err = errors.Join(err, handler.Close()) }()
	p, err := startPrometheus(ctx, dir, monitoring, metrics.Addr().String())
	if err != nil {
		return err
	}
	defer p.stop()
	return check(ctx, w, p, filepath.Join(monitoring, "dashboard.json"))
}

// check makes every alert active, and sends the queries of the dashboard.
func check(ctx context.Context, w *world, p *server, dashboard string) error {
	// The first scrape must precede the rejection: Prometheus sees no increase in a counter's first value.
	if err := p.await(ctx, `grpc_xds_client_connected == 1 and on(grpc_target) grpc_xds_client_resource_updates_invalid_total == 0`); err != nil {
		return err
	}
	if err := w.reject(); err != nil {
		return err
	}
	if err := p.await(ctx, `grpc_xds_client_resource_updates_invalid_total == 1`); err != nil {
		return err
	}
	if err := w.disconnect(); err != nil {
		return err
	}
	if err := p.awaitAlerts(ctx); err != nil {
		return err
	}
	return p.acceptsAll(ctx, dashboard)
}

// A server is a running Prometheus.
type server struct {
	url string
	cmd *exec.Cmd
}

// configuration scrapes a target each second, and evaluates the rules as often.
const configuration = `
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%q]
scrape_configs: [{job_name: client, static_configs: [{targets: [%q]}]}]
`

func startPrometheus(ctx context.Context, dir, monitoring, target string) (*server, error) {
	rules, err := filepath.Abs(filepath.Join(monitoring, "alerts.yaml"))
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "prometheus.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, configuration, rules, target), 0o600); err != nil {
		return nil, err
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "prometheus", "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"), //nolint:gosec // files of our own
		"--web.listen-address="+address, "--log.level=error")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w; install Debian's package prometheus", err)
	}
	return &server{url: "http://" + address, cmd: cmd}, nil
}

// freeAddress returns an address on loopback that nothing uses.
func freeAddress(ctx context.Context) (string, error) {
	lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return lis.Addr().String(), lis.Close()
}

func (p *server) stop() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait() // it was killed
}
