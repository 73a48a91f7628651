package httpxds_test

import (
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/client_side_weighted_round_robin/v3" // for prototext
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthgrpc "google.golang.org/grpc/health/grpc_health_v1"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/grpcxds"
	"github.com/xdsforge/xdsforge/httpxds"
	"github.com/xdsforge/xdsforge/internal/controlplane"
	"github.com/xdsforge/xdsforge/internal/fakelrs"
)

// A counted server counts its open connections.
type countedServer struct {
	*httptest.Server
	open atomic.Int64
}

func serveCounted(t *testing.T, h http.HandlerFunc) *countedServer {
	t.Helper()
	s := &countedServer{Server: httptest.NewUnstartedServer(h)}
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			s.open.Add(1)
		case http.StateClosed:
			s.open.Add(-1)
		default:
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func (s *countedServer) addr() string { return s.Listener.Addr().String() }

// When all endpoints of a priority fail, a retry policy lets no request fail. The next priority serves.
func TestFailover(t *testing.T) {
	for protocol, proto := range protocols {
		t.Run(proto, func(t *testing.T) {
			w := newWorld(t)
			first, second := serveCounted(t, named("first")), serve(t, named("second"))
			w.cluster("c", `circuit_breakers { thresholds { max_retries { value: 100 } } }`) // Envoy allows 3 retries at once
			w.set(new(endpointv3.ClusterLoadAssignment), `cluster_name: "c"
				endpoints { locality { region: "a" } load_balancing_weight { value: 1 } lb_endpoints { endpoint { address { socket_address { address: "127.0.0.1" port_value: %s } } } } }
				endpoints { locality { region: "b" } priority: 1 load_balancing_weight { value: 1 } lb_endpoints { endpoint { address { socket_address { address: "127.0.0.1" port_value: %s } } } } }`,
				portOf(first.addr()), portOf(second))
			w.routes(`routes { match { prefix: "" } route { cluster: "c" retry_policy { retry_on: "connect-failure,reset,refused-stream" num_retries { value: 10 } retry_back_off { base_interval { nanos: 20000000 } } } } }`)
			rt := w.transport(httpxds.WithProtocol(protocol))
			until(t, func() (bool, string) {
				body, err := get(t, rt, "http://svc/")
				return body == "first "+proto, fmt.Sprint(body, err)
			})
			const senders, after = 4, 20
			results := make(chan error, senders)
			for range senders {
				go func() {
					for n := 0; n < after; {
						body, err := get(t, rt, "http://svc/")
						if err != nil {
							results <- err
							return
						}
						if body == "second "+proto {
							n++
						}
					}
					results <- nil
				}()
			}
			_ = first.Listener.Close()
			first.CloseClientConnections()
			for range senders {
				if err := <-results; err != nil {
					t.Errorf("a request during the failover: %v", err)
				}
			}
		})
	}
}

// After an endpoint was removed, no connection to it is left when its last body is closed.
func TestRemovedEndpoint(t *testing.T) {
	for protocol, proto := range protocols {
		t.Run(proto, func(t *testing.T) {
			w := newWorld(t)
			s := serveCounted(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/long" {
					return
				}
				for text := strings.Repeat("x", 1<<16); ; { // until the body is closed
					if _, err := io.WriteString(w, text); err != nil {
						return
					}
				}
			})
			w.cluster("c", "", s.addr())
			w.routes("%s", to("c"))
			rt := w.transport(httpxds.WithProtocol(protocol))
			bodies := make([]io.Closer, 0, 3)
			for range 3 {
				r, err := http.NewRequestWithContext(soon(t), http.MethodGet, "http://svc/long", http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				resp, err := rt.RoundTrip(r)
				if err != nil {
					t.Fatal(err)
				}
				bodies = append(bodies, resp.Body)
			}
			w.endpoints("c", serve(t, named("other")))
			until(t, func() (bool, string) {
				body, err := get(t, rt, "http://svc/")
				return body == "other "+proto, fmt.Sprint(len(body), err)
			})
			if s.open.Load() == 0 {
				t.Error("the connections of the removed endpoint are closed under their requests")
			}
			for _, b := range bodies {
				_ = b.Close()
			}
			until(t, func() (bool, string) {
				n := s.open.Load()
				return n == 0, fmt.Sprint(n, " connections are open")
			})
		})
	}
}

// The weights of weighted_round_robin come from the load reports in the headers of responses.
func TestWeightsOfLoadReports(t *testing.T) {
	w := newWorld(t)
	reporting := func(name, utilization string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Endpoint-Load-Metrics", "TEXT cpu_utilization="+utilization+",rps_fractional=100")
			_, _ = io.WriteString(w, name)
		}
	}
	w.cluster("c", `load_balancing_policy { policies { typed_extension_config { name: "wrr"
		typed_config { [type.googleapis.com/envoy.extensions.load_balancing_policies.client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin] {
			blackout_period {} weight_update_period { nanos: 100000000 } } } } } }`,
		serve(t, reporting("busy", "0.9")), serve(t, reporting("idle", "0.1")))
	w.routes("%s", to("c"))
	rt := w.transport()
	until(t, func() (bool, string) { // 9 of 10 requests go to the idle endpoint
		counts := make(map[string]int)
		for range 100 {
			body, err := get(t, rt, "http://svc/")
			if err != nil {
				t.Fatal(err)
			}
			counts[body]++
		}
		return counts["idle"] >= 85 && counts["busy"] > 0, fmt.Sprint(counts)
	})
}

// Least request sends three quarters of the requests to the endpoint with fewer of them, if it draws two of two endpoints.
func TestLeastRequest(t *testing.T) {
	w := newWorld(t)
	g := newGate()
	defer close(g.open)
	hold := func(name string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, name)
			if r.URL.Path == "/hold" {
				w.(http.Flusher).Flush()
				g.ServeHTTP(w, r)
			}
		}
	}
	w.cluster("c", "lb_policy: LEAST_REQUEST", serve(t, hold("a")), serve(t, hold("b")))
	w.routes("%s", to("c"))
	rt := w.transport()
	seen := make(map[string]bool)
	until(t, func() (bool, string) {
		body, err := get(t, rt, "http://svc/")
		seen[body] = true
		return len(seen) == 2, fmt.Sprint(body, err)
	})
	r, err := http.NewRequestWithContext(soon(t), http.MethodGet, "http://svc/hold", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := rt.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	busy := make([]byte, 1)
	if _, err := io.ReadFull(resp.Body, busy); err != nil {
		t.Fatal(err)
	}
	const n = 400
	other := 0
	for range n {
		body, err := get(t, rt, "http://svc/")
		if err != nil {
			t.Fatal(err)
		}
		if body != string(busy) {
			other++
		}
	}
	if sd := math.Sqrt(n * 0.75 * 0.25); math.Abs(float64(other)-0.75*n) > 6*sd || float64(other) < 0.6*n {
		t.Errorf("%d of %d requests go to the endpoint without a request; want three quarters", other, n)
	}
}

// shared starts a control plane with load reports, and an Env for gRPC and HTTP. The only cluster is "c".
func shared(t *testing.T, settings, addr string) (*controlplane.Server, *fakelrs.Server, *xdsforge.Env) {
	t.Helper()
	sink := fakelrs.New(50 * time.Millisecond)
	control, err := controlplane.Start(controlplane.Standard(), sink.Option())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(control.Stop)
	for _, err := range []error{
		control.SetText("svc", new(listenerv3.Listener), `name: "svc" api_listener { api_listener {
			[type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] {
			route_config { virtual_hosts { name: "h" domains: "svc" %s } }
			http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } } } } }`, to("c")),
		control.SetText("c", new(clusterv3.Cluster), `name: "c" type: EDS eds_cluster_config { eds_config { self {} } } lrs_server { self {} } %s`, settings),
		control.SetText("c", new(endpointv3.ClusterLoadAssignment), `cluster_name: "c" endpoints { locality { region: "r" } load_balancing_weight { value: 1 }
			lb_endpoints { endpoint { address { socket_address { address: "127.0.0.1" port_value: %s } } } } }`, portOf(addr)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	config, err := bootstrap.Parse(fmt.Appendf(nil, `{"node": {"id": "n"}, "xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}]}`, control.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	env, err := xdsforge.NewEnv(xdsforge.WithBootstrap(config), xdsforge.WithTypes(grpcxds.Register))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = env.Close() })
	return control, sink, env
}

// Load reports count requests by their status, and include the metrics that endpoints report in headers.
func TestLoadReports(t *testing.T) {
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Endpoint-Load-Metrics", `JSON {"cpu_utilization": 0.5, "named_metrics": {"answers": 1, "secret": 7}}`)
		if r.URL.Path == "/bad" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	_, sink, env := shared(t, `lrs_report_endpoint_metrics: ["cpu_utilization", "named_metrics.answers"]`, addr)
	rt, err := httpxds.NewTransport("xds:///svc", httpxds.WithEnv(env))
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	for _, path := range []string{"/", "/", "/bad"} {
		if _, err := get(t, rt, "http://svc"+path); err != nil {
			t.Fatal(err)
		}
	}
	want := fakelrs.Totals{Issued: 3, Succeeded: 2, Failed: 1}
	if err := sink.Await(soon(t), func(r []fakelrs.Report) bool { return fakelrs.Sum(r) == want }); err != nil {
		t.Fatalf("the reports are %+v, %v; want %+v", fakelrs.Sum(sink.Reports()), err, want)
	}
	cpu, named := 0.0, make(map[string]float64)
	for _, r := range sink.Reports() {
		for _, c := range r.Message.GetClusterStats() {
			for _, l := range c.GetUpstreamLocalityStats() {
				cpu += l.GetCpuUtilization().GetTotalMetricValue()
				for _, m := range l.GetLoadMetricStats() {
					named[m.GetMetricName()] += m.GetTotalMetricValue()
				}
			}
		}
	}
	if cpu != 1.5 || len(named) != 1 || named["named_metrics.answers"] != 3 {
		t.Errorf("the reports have the CPU utilization %v and the metrics %v; want 1.5, and 3 answers only", cpu, named)
	}
}

// A gRPC channel and an HTTP client of one Env share the connection to the control plane, and the circuit breaker of a cluster.
func TestOneEnv(t *testing.T) {
	g := newGate()
	control, _, env := shared(t, `circuit_breakers { thresholds { max_requests { value: 1 } } }`, serve(t, g.ServeHTTP))
	rt, err := httpxds.NewTransport("xds:///svc", httpxds.WithEnv(env))
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	first := make(chan error)
	go func() {
		_, err := get(t, rt, "http://svc/")
		first <- err
	}()
	<-g.entered
	conn, err := grpcxds.Dialer{Env: env}.NewClient("xds:///svc", grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = healthgrpc.NewHealthClient(conn).Check(soon(t), new(healthgrpc.HealthCheckRequest))
	if grpcstatus.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "too many calls are in flight") {
		t.Errorf("a call of gRPC above the limit that an HTTP request has reached: %v", err)
	}
	if n := control.Connections(); n != 1 {
		t.Errorf("the control plane has %d connections; want one", n)
	}
	close(g.open)
	if err := <-first; err != nil {
		t.Error(err)
	}
}
