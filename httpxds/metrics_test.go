package httpxds_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/httpxds"
	"github.com/xdsforge/xdsforge/internal/scrape"
)

// TestRetryMetrics expects the retries of requests to be counted, and requests without retries not.
func TestRetryMetrics(t *testing.T) {
	w := newWorld(t)
	meter := scrape.NewMeter()
	w.env = w.plane.Env(xdsforge.WithTypes(httpxds.Register), xdsforge.WithMeterProvider(meter))
	var attempts atomic.Int64
	w.cluster("c", "", serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/bad" || r.URL.Path == "/slow" && attempts.Add(1) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	w.routes(`routes { match { prefix: "" } route { cluster: "c" retry_policy { retry_on: "5xx" num_retries { value: 2 } retry_back_off { base_interval { nanos: 1000000 } } } } }`)
	rt := w.transport()
	for _, path := range []string{"/good", "/slow", "/bad"} {
		if _, err := get(t, rt, "http://svc"+path); err != nil {
			t.Fatal(err)
		}
	}
	lines, err := meter.Lines(t.Context(), "grpc.client.call.retries")
	if want := []string{"grpc.client.call.retries{grpc.method=other,grpc.target=xds:///svc} 2 of 4"}; err != nil || !slices.Equal(lines, want) {
		t.Errorf("%q, %v; want %q", lines, err, want)
	}
	if lines, err := meter.Lines(t.Context(), "grpc.client.call.retry_delay"); err != nil || len(lines) != 1 || !strings.HasSuffix(lines[0], "} 2") {
		t.Errorf("%q, %v; want the delays of two requests", lines, err)
	}
}

// TestPolicyMetrics expects the weights of weighted_round_robin in the metrics of the Env, with all labels (A78).
func TestPolicyMetrics(t *testing.T) {
	w := newWorld(t)
	meter := scrape.NewMeter()
	w.env = w.plane.Env(xdsforge.WithTypes(httpxds.Register), xdsforge.WithMeterProvider(meter))
	w.cluster("c", `load_balancing_policy { policies { typed_extension_config { name: "wrr" typed_config {
		[type.googleapis.com/envoy.extensions.load_balancing_policies.client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin] {} } } } }`,
		serve(t, named("a")), serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "b") }))
	w.routes("%s", to("c"))
	if _, err := get(t, w.transport(), "http://svc/"); err != nil {
		t.Fatal(err)
	}
	const labels = `{grpc.lb.backend_service=c,grpc.lb.locality={region="r", zone="", sub_zone=""},grpc.target=xds:///svc}`
	until(t, func() (bool, string) {
		lines, err := meter.Lines(t.Context(), "grpc.lb.wrr.")
		has := func(name string) bool {
			return slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, name+labels+" ") })
		}
		return err == nil && has("grpc.lb.wrr.rr_fallback") && has("grpc.lb.wrr.endpoint_weights") && has("grpc.lb.wrr.endpoint_weight_not_yet_usable"), fmt.Sprint(lines, err)
	})
}
