package grpcxds_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/aggregate/v3" // for prototext
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental/stats/telemetry"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/stats/opentelemetry"
	"google.golang.org/grpc/xds"

	"github.com/xdsforge/xdsforge/internal/scrape"
)

// csm is the metadata of a cluster with a service.
const csm = `metadata { filter_metadata { key: "com.google.csm.telemetry_labels" value {
	fields { key: "service_name" value { string_value: "grpc-service" } }
	fields { key: "service_namespace" value { string_value: "%s" } } } } }`

// labelled sets a cluster with metadata, and its endpoints in a locality.
func (p *plane) labelled(name, metadata string, b *backend) {
	p.Helper()
	p.set(name, new(clusterv3.Cluster), `name: %q type: EDS eds_cluster_config { eds_config { ads {} } } %s`, name, metadata)
	address := ""
	if b != nil {
		address = fmt.Sprintf(`lb_endpoints { endpoint { address { socket_address { address: "127.0.0.1" port_value: %d } } } }`, b.port)
	}
	p.set(name, new(endpointv3.ClusterLoadAssignment), `cluster_name: %q endpoints { locality { region: "region-1" zone: "zone-1" sub_zone: "subzone-1" }
		load_balancing_weight { value: 1 } %s }`, name, address)
}

// ofBoth runs a test with a channel of ours and with one of grpc-go's own xDS.
func ofBoth(t *testing.T, p *plane, target string, options func() []grpc.DialOption, test func(t *testing.T, cc *grpc.ClientConn)) {
	t.Helper()
	config := fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s]}`, p.entry())
	t.Run("ours", func(t *testing.T) { test(t, newChannel(t, newEnv(t, config), target, options()...)) })
	t.Run("grpc-go's", func(t *testing.T) {
		builder, err := xds.NewXDSResolverWithConfigForTesting([]byte(config))
		if err != nil {
			t.Fatal(err)
		}
		cc, err := grpc.NewClient(target, append(options(), grpc.WithResolvers(builder), grpc.WithTransportCredentials(insecure.NewCredentials()))...)
		if err != nil {
			t.Fatal(err)
		}
		defer cc.Close()
		test(t, cc)
	})
}

// labelsSeen is a stats handler that notes the labels that a call has at each event after its pick.
type labelsSeen struct {
	mu     sync.Mutex
	events []string
}

type labelsKey struct{}

func (*labelsSeen) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (*labelsSeen) HandleConn(context.Context, stats.ConnStats)                       {}

func (h *labelsSeen) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	labels := make(map[string]string)
	ctx = telemetry.NewContextWithLabelCallback(ctx, func(l map[string]string) {
		h.mu.Lock()
		defer h.mu.Unlock()
		maps.Copy(labels, l)
	})
	return context.WithValue(ctx, labelsKey{}, labels)
}

func (h *labelsSeen) HandleRPC(ctx context.Context, s stats.RPCStats) {
	switch s.(type) {
	case *stats.OutPayload, *stats.InPayload, *stats.End:
		h.mu.Lock()
		defer h.mu.Unlock()
		h.events = append(h.events, fmt.Sprintf("%T %s", s, inOrder(ctx.Value(labelsKey{}).(map[string]string))))
	}
}

func inOrder(labels map[string]string) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		fmt.Fprintf(&b, "%s=%s ", k, labels[k])
	}
	return b.String()
}

const region1 = `{region="region-1", zone="zone-1", sub_zone="subzone-1"}`

// Stats handlers see the labels of the cluster and of the locality from the first message to the end
// of a call (A89). It is the case TelemetryLabels of grpc-go's own tests, with both clients.
func TestTelemetryLabels(t *testing.T) {
	p := newPlane(t)
	p.listener("svc", rds("r"))
	p.routes("r", hosts("svc", to("c")))
	for metadata, want := range map[string][2]string{fmt.Sprintf(csm, "ns"): {"grpc-service", "ns"}, "": {"unknown", "unknown"}} {
		p.labelled("c", metadata, newBackend(t, "b"))
		var h *labelsSeen
		ofBoth(t, p, "xds:///svc", func() []grpc.DialOption { h = new(labelsSeen); return []grpc.DialOption{grpc.WithStatsHandler(h)} }, func(t *testing.T, cc *grpc.ClientConn) {
			if _, err := call(soon(t), cc, "/p.S/M", grpc.WaitForReady(true)); err != nil {
				t.Fatal(err)
			}
			labels := fmt.Sprintf("csm.service_name=%s csm.service_namespace_name=%s grpc.lb.backend_service=c grpc.lb.locality=%s ", want[0], want[1], region1)
			all := []string{"*stats.OutPayload " + labels, "*stats.InPayload " + labels, "*stats.End " + labels}
			h.mu.Lock()
			defer h.mu.Unlock()
			if !slices.Equal(h.events, all) {
				t.Errorf("events\n%s\nwant\n%s", strings.Join(h.events, "\n"), strings.Join(all, "\n"))
			}
		})
	}
}

// The labels are those of the leaf of an aggregate cluster that gets the call, also after a failover. It
// is the case TelemetryLabels_AggregateCluster of grpc-go's own tests, with both clients.
func TestTelemetryLabelsOfAggregateClusters(t *testing.T) {
	p := newPlane(t)
	p.listener("svc", rds("r"))
	p.routes("r", hosts("svc", to("all")))
	p.set("all", new(clusterv3.Cluster), `name: "all" cluster_type { name: "envoy.clusters.aggregate" typed_config {
		[type.googleapis.com/envoy.extensions.clusters.aggregate.v3.ClusterConfig] { clusters: ["c1", "c2"] } } }`)
	first, second := newBackend(t, "first"), newBackend(t, "second")
	none := func() []grpc.DialOption { return nil }
	ofBoth(t, p, "xds:///svc", none, func(t *testing.T, cc *grpc.ClientConn) {
		p.labelled("c1", fmt.Sprintf(csm, "ns1"), first)
		p.labelled("c2", fmt.Sprintf(csm, "ns2"), second)
		labelled := func(who, cluster, namespace string) {
			t.Helper()
			until(t, cc, who)
			var last, all map[string]string
			ctx := telemetry.NewContextWithLabelCallback(soon(t), func(l map[string]string) {
				if last = l; all == nil {
					all = make(map[string]string)
				}
				maps.Copy(all, l)
			})
			if _, err := call(ctx, cc, "/p.S/M"); err != nil {
				t.Fatal(err)
			}
			if want := map[string]string{"grpc.lb.locality": region1, "grpc.lb.backend_service": cluster}; !maps.Equal(last, want) {
				t.Errorf("%s: the last labels are %v; want %v", who, last, want)
			}
			if got := all["csm.service_namespace_name"]; got != namespace {
				t.Errorf("%s: namespace %q; want %q", who, got, namespace)
			}
		}
		labelled("first", "c1", "ns1")
		p.labelled("c1", fmt.Sprintf(csm, "ns1"), nil)
		labelled("second", "c2", "ns2")
	})
}

// grpc-go's OpenTelemetry plugin has the labels of A89 on its metrics of attempts, with both clients.
func TestOpenTelemetryHasTheLabels(t *testing.T) {
	p := newPlane(t)
	p.listener("svc", rds("r"))
	p.routes("r", hosts("svc", to("c")))
	p.labelled("c", "", newBackend(t, "b"))
	var meter *scrape.Meter
	ofBoth(t, p, "xds:///svc", func() []grpc.DialOption {
		meter = scrape.NewMeter()
		return []grpc.DialOption{opentelemetry.DialOption(opentelemetry.Options{MetricsOptions: opentelemetry.MetricsOptions{
			MeterProvider: meter, OptionalLabels: []string{"grpc.lb.locality", "grpc.lb.backend_service"},
		}})}
	}, func(t *testing.T, cc *grpc.ClientConn) {
		if _, err := call(soon(t), cc, "/p.S/M", grpc.WaitForReady(true)); err != nil {
			t.Fatal(err)
		}
		lines, err := meter.Lines(t.Context(), "grpc.client.attempt.duration")
		if err != nil {
			t.Fatal(err)
		}
		want := []string{`grpc.client.attempt.duration{grpc.lb.backend_service=c,grpc.lb.locality=` + region1 + `,grpc.method=other,grpc.status=OK,grpc.target=xds:///svc} 1`}
		if !slices.Equal(lines, want) {
			t.Errorf("metrics\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
		}
	})
}

// The metrics of weighted_round_robin have grpc-go's labels (A78, A89).
func TestMetricsOfWeightedRoundRobin(t *testing.T) {
	p := newPlane(t)
	p.listener("svc", rds("r"))
	p.routes("r", hosts("svc", to("c")))
	p.labelled("c", `load_balancing_policy { policies { typed_extension_config { name: "wrr" typed_config {
		[type.googleapis.com/envoy.extensions.load_balancing_policies.wrr_locality.v3.WrrLocality] { endpoint_picking_policy { policies { typed_extension_config { name: "wrr" typed_config {
		[type.googleapis.com/envoy.extensions.load_balancing_policies.client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin] {} } } } } } } } } }`, newBackend(t, "b"))
	const fallback = "grpc.lb.wrr.rr_fallback"
	var meter *scrape.Meter
	ofBoth(t, p, "xds:///svc", func() []grpc.DialOption {
		meter = scrape.NewMeter()
		return []grpc.DialOption{opentelemetry.DialOption(opentelemetry.Options{MetricsOptions: opentelemetry.MetricsOptions{
			MeterProvider: meter, OptionalLabels: []string{"grpc.lb.locality", "grpc.lb.backend_service"},
			Metrics: stats.NewMetricSet(fallback),
		}})}
	}, func(t *testing.T, cc *grpc.ClientConn) {
		if _, err := call(soon(t), cc, "/p.S/M", grpc.WaitForReady(true)); err != nil {
			t.Fatal(err)
		}
		lines, err := meter.Lines(t.Context(), fallback)
		if want := fallback + "{grpc.lb.backend_service=c,grpc.lb.locality=" + region1 + ",grpc.target=xds:///svc} "; err != nil || len(lines) != 1 || !strings.HasPrefix(lines[0], want) {
			t.Errorf("metrics %q, %v; want %q", lines, err, want)
		}
	})
}
