package httpxds_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/httpxds"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/extension"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
	"github.com/xdsforge/xdsforge/xdstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A world is a control plane on loopback, for the target xds:///svc.
type world struct {
	testing.TB
	plane *xdstest.ControlPlane
	env   *xdsforge.Env
}

func newWorld(t testing.TB) *world {
	t.Helper()
	plane := xdstest.Start(t, listener.Type(), route.Type(), cluster.Type(), endpoint.Type(), extension.Type())
	return &world{t, plane, plane.Env(xdsforge.WithTypes(httpxds.Register))}
}

func (w *world) set(m proto.Message, format string, args ...any) {
	w.Helper()
	if err := prototext.Unmarshal(fmt.Appendf(nil, format, args...), m); err != nil {
		w.Fatal(err)
	}
	w.plane.Set(m)
}

// routes sets the routes of the target.
func (w *world) routes(format string, args ...any) {
	w.Helper()
	w.hosts(`virtual_hosts { name: "h" domains: "svc" %s }`, fmt.Sprintf(format, args...))
}

// hosts sets the parts of the RouteConfiguration of the target.
func (w *world) hosts(format string, args ...any) {
	w.Helper()
	w.filtered("", format, args...)
}

// filtered sets the HTTP filters of the target before the router, and the parts of its RouteConfiguration.
func (w *world) filtered(filters, format string, args ...any) {
	w.Helper()
	w.managed("route_config { " + fmt.Sprintf(format, args...) + " } " + filters)
}

// managed sets the contents of the HttpConnectionManager of the target before the router.
func (w *world) managed(contents string) {
	w.Helper()
	w.set(new(listenerv3.Listener), `name: "svc" api_listener { api_listener { %s { %s %s } } }`, managerAny, contents, routerEnd)
}

// to returns a route for all requests.
func to(name string) string {
	return fmt.Sprintf(`routes { match { prefix: "" } route { cluster: %q } }`, name)
}

// cluster sets a cluster of endpoints with further settings.
func (w *world) cluster(name, settings string, addresses ...string) {
	w.Helper()
	w.set(new(clusterv3.Cluster), `name: %q type: EDS eds_cluster_config { eds_config { ads {} } } %s`, name, settings)
	w.endpoints(name, addresses...)
}

func (w *world) endpoints(name string, addresses ...string) {
	w.Helper()
	var b strings.Builder
	for _, addr := range addresses {
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			w.Fatal(err)
		}
		fmt.Fprintf(&b, `lb_endpoints { endpoint { address { socket_address { address: %q port_value: %s } } } } `, host, port)
	}
	w.set(new(endpointv3.ClusterLoadAssignment), `cluster_name: %q endpoints { locality { region: "r" } load_balancing_weight { value: 1 } %s }`, name, b.String())
}

// transport returns a Transport for the target.
func (w *world) transport(opts ...httpxds.Option) *httpxds.Transport {
	w.Helper()
	t, err := httpxds.NewTransport("xds:///svc", append([]httpxds.Option{httpxds.WithEnv(w.env)}, opts...)...)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = t.Close() })
	return t
}

// serve starts a server of HTTP/1.1 and of HTTP/2 without TLS. It returns the address.
func serve(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// named returns a handler that responds with a name and the protocol.
func named(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprintf(w, "%s %s", name, r.Proto) }
}

// get returns the body of a response, or the error.
func get(t testing.TB, rt http.RoundTripper, url string, edit ...func(*http.Request)) (string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(soon(t), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range edit {
		f(r)
	}
	resp, err := rt.RoundTrip(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// soon returns a context for steps that must not take long.
func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}
