package guides

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"testing"

	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	experimental "google.golang.org/grpc/experimental/opentelemetry"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/stats/opentelemetry"
	grpccsds "google.golang.org/grpc/xds/csds"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/adminxds"
	"github.com/xdsforge/xdsforge/csds"
	"github.com/xdsforge/xdsforge/framework/lkg"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds"
	"github.com/xdsforge/xdsforge/httpxds"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/statuspage"
	"github.com/xdsforge/xdsforge/xdstest"
)

// The functions below are compiled, not run. Each has a block of code of a page, which has no place in a test or an
// example of its own: fragments, and calls that bind fixed ports.
var _ = []any{
	readmeChannel, readmeServer, readmeHTTP, statusAdmin, statusSummary, statusEvents, statusOthers, statusPages, offline, limits,
	traces, testingStart, metricsClient, metricsChannel, trust, serverEnv,
	rejections{},
}

// README.md
func readmeChannel() (*grpc.ClientConn, error) {
	cc, err := grpcxds.NewClient("xds://east.example/checkout", // was grpc.NewClient
		grpcxds.WithCredentials(insecure.NewCredentials())) // was grpc.WithTransportCredentials
	return cc, err
}

func readmeServer(lis net.Listener) error {
	s, err := grpcxds.NewServer(grpcxds.Creds(insecure.NewCredentials())) // was grpc.NewServer, grpc.Creds
	healthpb.RegisterHealthServer(s, health.NewServer())
	err = s.Serve(lis)
	return err
}

func readmeHTTP(mux *http.ServeMux, lis net.Listener) (*http.Client, error) {
	transport, err := httpxds.NewTransport("xds:///shop")
	client := &http.Client{Transport: transport}
	s, err := httpxds.NewServer(mux) // was http.Server{Handler: mux}
	err = s.Serve(lis)
	return client, err
}

// docs/offline.md and README.md
func offline() (grpcxds.Dialer, error) {
	env, err := xdsforge.NewEnv(
		xdsforge.WithTypes(grpcxds.Register),
		xdsforge.WithLastKnownGood(lkg.Options{Dir: "/var/lib/shop/lkg"}),
	)
	dialer := grpcxds.Dialer{Env: env}
	return dialer, err
}

// docs/status.md
func statusAdmin() error {
	s := grpc.NewServer()
	if err := adminxds.Register(s); err != nil { // CSDS, channelz, health
		return err
	}
	lis, err := net.Listen("tcp", "127.0.0.1:5555") // where only operators can reach it
	if err != nil {
		return err
	}
	go s.Serve(lis)
	return nil
}

func statusSummary(ctx context.Context, env *xdsforge.Env) error {
	for _, c := range env.Clients() {
		s, err := c.Summary(ctx)
		if errors.Is(err, xdsforge.ErrClosed) {
			continue // closed since
		}
		if err != nil {
			return err
		}
		for _, n := range s.Counts {
			fmt.Println(c.Scope(), n) // xds:///checkout old-style names: 12 Cluster acked
		}
	}
	return nil
}

func statusEvents(ctx context.Context, client *xdsforge.Client) {
	for ev := range client.Status().FollowEvents(ctx) {
		log.Print(ev) // 2026-11-22T12:00:00Z FELL_BACK "east.example" xds-2.east.example:443
	}
}

func statusOthers(s *grpc.Server) error {
	theirs, err := grpccsds.NewClientStatusDiscoveryServer() // google.golang.org/grpc/xds/csds
	if err != nil {
		return err
	}
	err = adminxds.Config{CSDS: csds.Config{
		Others: []statusv3.ClientStatusDiscoveryServiceServer{theirs},
	}}.Register(s)
	return err
}

// docs/statuspage.md
func statusPages(mux *http.ServeMux) {
	mux.Handle("/debug/xds/", statuspage.Handler()) // all environments of the process
	go http.ListenAndServe("127.0.0.1:6060", mux)   // where only operators can reach it
}

// docs/limits.md
func limits() (*xdsforge.Client, error) {
	c, err := xdsforge.New(
		xdsforge.WithTypes(standard.Register),
		xdsforge.WithLimits(resource.Limits{
			ResourceSize:      256 << 20, // endpoints of a very large service
			CollectionMembers: 1_000_000,
		}))
	return c, err
}

// docs/traces.md
func traces(provider *trace.TracerProvider) (*grpc.ClientConn, error) {
	env, err := xdsforge.NewEnv(xdsforge.WithTypes(grpcxds.Register), xdsforge.WithTracerProvider(provider))
	if err != nil {
		return nil, err
	}
	cc, err := grpcxds.Dialer{Env: env}.NewClient("xds:///checkout",
		opentelemetry.DialOption(opentelemetry.Options{TraceOptions: experimental.TraceOptions{
			TracerProvider: provider, TextMapPropagator: propagation.TraceContext{},
		}}))
	return cc, err
}

// docs/testing.md
func testingStart(t *testing.T) (*grpc.ClientConn, error) {
	cp := xdstest.Start(t, listener.Type(), route.Type(), cluster.Type(), endpoint.Type())
	dialer := grpcxds.Dialer{Env: cp.Env(xdsforge.WithTypes(grpcxds.Register))}
	cc, err := dialer.NewClient("xds:///shop", grpcxds.WithCredentials(insecure.NewCredentials()))
	return cc, err
}

// docs/metrics.md
func metricsClient(provider *metric.MeterProvider) (*xdsforge.Env, error) {
	env, err := xdsforge.NewEnv(
		xdsforge.WithTypes(standard.Register),
		xdsforge.WithMeterProvider(provider), // a metric.MeterProvider, such as the SDK's
	)
	return env, err
}

func metricsChannel(env *xdsforge.Env, provider *metric.MeterProvider) (*grpc.ClientConn, error) {
	cc, err := grpcxds.Dialer{Env: env}.NewClient("xds:///checkout",
		opentelemetry.DialOption(opentelemetry.Options{MetricsOptions: opentelemetry.MetricsOptions{
			MeterProvider:  provider,
			OptionalLabels: []string{"grpc.lb.locality", "grpc.lb.backend_service"},
		}}))
	return cc, err
}

// docs/trust.md
func trust(ctx context.Context, c *xdsforge.Client) {
	// A list of the authority "evil" cannot contain a resource of "payments".
	for ev := range cluster.WatchCollection(ctx, c, "xdstp://evil/envoy.config.cluster.v3.ClusterCollection/all") {
		log.Println(ev.Err) // … entries[1]; name = "xdstp://payments/…"; must have the authority "evil" of the collection
	}
}

// docs/server.md
func serverEnv(ratelimit func(xdsforge.Registrar)) (*grpcxds.Server, error) {
	env, err := xdsforge.NewEnv(xdsforge.WithBootstrapFile("xds.json"), xdsforge.WithTypes(grpcxds.Register, ratelimit))
	s, err := grpcxds.ServerConfig{Env: env}.NewServer(grpcxds.Creds(insecure.NewCredentials()))
	return s, err
}

// docs/logs.md
type rejections struct{ slog.Handler }

func (h rejections) Handle(ctx context.Context, r slog.Record) error {
	if r.Message != "response rejected" && r.Message != "more responses rejected" {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}
