package grpcxds_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/propagation"
	experimental "google.golang.org/grpc/experimental/opentelemetry"
	"google.golang.org/grpc/stats/opentelemetry"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/transport/grpctransport"
	"github.com/xdsforge/xdsforge/internal/scrape"
)

// The program's options for child channels apply to the streams to control planes and to the calls of filters (A110). With
// grpc-go's plugin among them, these calls have spans below the span of the call that causes them, and metrics of their own.
func TestChildOptions(t *testing.T) {
	p, a, e := newPlane(t), authz(t), extProc(t)
	e.Handle(rewriting)
	p.cluster("c", "e", headersOf(t, "x-user"))
	p.listener("svc", extAuthz(a.Addr(), "")+processed(e.Addr(), allEvents)+`route_config { name: "r" `+hosts("*", to("c"))+`}`)
	spans, tracer := scrape.NewSpans()
	meter := scrape.NewMeter()
	plugin := opentelemetry.DialOption(opentelemetry.Options{
		MetricsOptions: opentelemetry.MetricsOptions{MeterProvider: meter},
		TraceOptions:   experimental.TraceOptions{TracerProvider: tracer, TextMapPropagator: propagation.TraceContext{}},
	})
	transport := grpctransport.New(grpctransport.WithChildDialOptions(plugin))
	env := newEnv(t, fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s], "allowed_grpc_services": {
		%q: {"channel_creds": [{"type": "insecure"}]}, %q: {"channel_creds": [{"type": "insecure"}]}}}`, p.entry(), a.Addr(), e.Addr()),
		xdsforge.WithTransport(transport))
	cc := newChannel(t, env, "xds:///svc", plugin)
	if _, err := call(soon(t), cc, "/p.S/M"); err != nil {
		t.Fatal(err)
	}
	tree := spans.Tree()
	for _, want := range []string{
		"Sent.envoy.service.discovery.v3.AggregatedDiscoveryService.StreamAggregatedResources under ",
		"Sent.p.S.M under ",
		"Sent.envoy.service.auth.v3.Authorization.Check under Sent.p.S.M",
		"Sent.envoy.service.ext_proc.v3.ExternalProcessor.Process under Sent.p.S.M",
	} {
		if !slices.Contains(tree, want) {
			t.Errorf("no span %q; the spans are\n%s", want, strings.Join(tree, "\n"))
		}
	}
	lines, err := meter.Lines(t.Context(), "grpc.client.call.duration")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(lines, func(line string) bool {
		return strings.Contains(line, "envoy.service.auth.v3.Authorization/Check") && strings.Contains(line, a.Addr())
	}) {
		t.Errorf("the check is recorded as another call:\n%s", strings.Join(lines, "\n"))
	}
}
