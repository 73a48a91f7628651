package grpcxds_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/stateful_session/v3" // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/http/stateful_session/cookie/v3"  // for prototext
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter/statefulsession"
	"github.com/xdsforge/xdsforge/internal/loopback"
)

// An affinityWorld has a channel with the stateful session filter, and backends 0 to 3.
type affinityWorld struct {
	*plane
	backends []*backend
	cc       *grpc.ClientConn
}

// cookieState is the configuration of a cookie.
func cookieState(cookie string) string {
	return `session_state { typed_config { [type.googleapis.com/envoy.extensions.http.stateful_session.cookie.v3.CookieBasedSessionState] { cookie { ` + cookie + ` } } } }`
}

// overrideCookie is the configuration of the filter of a route.
func overrideCookie(config string) string {
	return `typed_per_filter_config { key: "affinity" value { [type.googleapis.com/envoy.extensions.filters.http.stateful_session.v3.StatefulSessionPerRoute] { ` + config + ` } } }`
}

// newAffinityWorld returns a world with the configuration of the filter, and the routes of its virtual host. There are
// no clusters yet.
func newAffinityWorld(t *testing.T, filter, routes string) *affinityWorld {
	t.Helper()
	w := &affinityWorld{plane: newPlane(t)}
	for i := range 4 {
		w.backends = append(w.backends, newBackend(t, fmt.Sprint(i)))
	}
	w.routed(filter, routes)
	env := newEnv(t, fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s]}`, w.entry()))
	w.cc = newChannel(t, env, "xds:///svc")
	return w
}

func (w *affinityWorld) routed(filter, routes string) {
	w.Helper()
	w.listener("svc", `http_filters { name: "affinity" typed_config { [type.googleapis.com/envoy.extensions.filters.http.stateful_session.v3.StatefulSession] { `+
		filter+` } } } route_config { name: "r" `+hosts("*", routes)+` }`)
}

// has publishes a cluster with localities. statuses are those in which a session stays.
func (w *affinityWorld) has(name, statuses string, localities ...string) {
	w.Helper()
	if statuses != "" {
		statuses = `common_lb_config { override_host_status { statuses: [` + statuses + `] } }`
	}
	w.set(name, new(clusterv3.Cluster), `name: %q type: EDS eds_cluster_config { eds_config { ads {} } } %s`, name, statuses)
	w.endpointsOf(name, localities...)
}

func (w *affinityWorld) endpointsOf(name string, localities ...string) {
	w.Helper()
	w.set(name, new(endpointv3.ClusterLoadAssignment), `cluster_name: %q %s`, name, strings.Join(localities, " "))
}

// in returns a locality. An endpoint is the index of its backend, and its health.
func (w *affinityWorld) in(region string, priority int, endpoints ...string) string {
	text := fmt.Sprintf(`endpoints { locality { region: %q } priority: %d load_balancing_weight { value: 1 } `, region, priority)
	for _, e := range endpoints {
		text += fmt.Sprintf(`lb_endpoints { health_status: %s endpoint { address { socket_address { address: "127.0.0.1" port_value: %d } } } } `,
			e[1:], w.backends[e[0]-'0'].port)
	}
	return text + "}"
}

// calls makes n calls with a cookie, and returns the names of the backends with their numbers of calls.
func (w *affinityWorld) calls(n int, method, cookie string) string {
	w.Helper()
	got := make(map[string]int)
	for range n {
		who, _ := w.one(method, cookie)
		got[who]++
	}
	out := ""
	for _, who := range slices.Sorted(maps.Keys(got)) {
		out += fmt.Sprintf(" %s:%d", who, got[who])
	}
	return strings.TrimSpace(out)
}

// one makes a call and returns the name of the backend and the new cookies.
func (w *affinityWorld) one(method, cookie string) (who string, set []string) {
	w.Helper()
	ctx := soon(w.TB)
	if cookie != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "cookie", cookie)
	}
	var md metadata.MD
	who, err := call(ctx, w.cc, method, grpc.Header(&md))
	if err != nil {
		w.Fatal(err)
	}
	return who, md["set-cookie"]
}

// cookie makes calls until a backend handles one, and returns its cookie with the attributes.
func (w *affinityWorld) cookie(method, who string) (cookie, attributes string) {
	w.Helper()
	ctx := soon(w.TB)
	for ctx.Err() == nil {
		if got, set := w.one(method, ""); got == who {
			if len(set) != 1 {
				w.Fatalf("the response of %s sets the cookies %q; want one", who, set)
			}
			cookie, attributes, _ = strings.Cut(set[0], "; ")
			return cookie, attributes
		}
	}
	w.Fatalf("no call reaches %s", who)
	return "", ""
}

// reaches makes calls without a cookie until all backends have handled one.
func (w *affinityWorld) reaches(method string, who ...string) {
	w.Helper()
	ctx := soon(w.TB)
	for left := slices.Clone(who); len(left) > 0; {
		got, _ := w.one(method, "")
		left = slices.DeleteFunc(left, func(s string) bool { return s == got })
		if ctx.Err() != nil {
			w.Fatalf("no call reaches %q", left)
		}
	}
}

func (w *affinityWorld) expect(when, got, want string) {
	w.Helper()
	if got != want {
		w.Errorf("%s, backends and their calls are %q; want %q", when, got, want)
	}
}

const (
	session = `name: "session"`
	m       = "/p.S/M"
)

// Calls with a cookie go to its endpoint, also those of other services. The others spread.
func TestSessionStays(t *testing.T) {
	w := newAffinityWorld(t, cookieState(session), to("c"))
	w.has("c", "", w.in("a", 0, "0HEALTHY", "1UNKNOWN"))
	w.reaches(m, "0", "1")
	cookie, attributes := w.cookie(m, "0")
	if attributes != "HttpOnly; Path=/" {
		t.Errorf("the attributes of the cookie are %q; want HttpOnly; Path=/", attributes)
	}
	name, value, _ := strings.Cut(cookie, "=")
	b, err := base64.StdEncoding.DecodeString(value)
	if want := fmt.Sprintf("127.0.0.1:%d;c", w.backends[0].port); name != "session" || err != nil || string(b) != want {
		t.Errorf("the cookie is %s, %q, %v; want session, %s", name, b, err, want)
	}
	w.expect("with a cookie", w.calls(5, m, "other=x; "+cookie), "0:5")
	w.expect("with a cookie for another service", w.calls(5, "/q.T/N", cookie), "0:5")
	w.expect("without a cookie", w.calls(4, m, ""), "0:2 1:2")
	w.expect("with a malformed cookie", w.calls(4, m, "session=%%%"), "0:2 1:2")
	if _, set := w.one(m, cookie); len(set) != 0 {
		t.Errorf("a call to the endpoint of its cookie sets %q; want none", set)
	}
}

// A session stays on an endpoint that moves to a lower priority, whether or not the priority keeps its connections.
func TestSessionAcrossPriorities(t *testing.T) {
	w := newAffinityWorld(t, cookieState(session), to("c"))
	for _, test := range []struct{ first, then []string }{
		{[]string{w.in("a", 0, "0HEALTHY", "1HEALTHY")}, []string{w.in("b", 0, "2HEALTHY"), w.in("a", 1, "0HEALTHY", "1HEALTHY")}},
		{[]string{w.in("a", 0, "0HEALTHY"), w.in("b", 0, "1HEALTHY")}, []string{w.in("a", 0, "0HEALTHY"), w.in("c", 0, "2HEALTHY"), w.in("b", 1, "1HEALTHY")}},
	} {
		w.has("c", "", test.first...)
		w.reaches(m, "0", "1")
		cookie, _ := w.cookie(m, "1")
		w.endpointsOf("c", test.then...)
		w.reaches(m, "2")
		w.expect("after the endpoint moved", w.calls(5, m, cookie), "1:5")
	}
}

// A session stays on an endpoint while its health status is one of those that the cluster names. Draining endpoints get
// no other calls.
func TestSessionByHealth(t *testing.T) {
	for _, test := range []struct{ statuses, health, want string }{
		{"HEALTHY, UNKNOWN, DRAINING", "DRAINING", "0:4"},
		{"HEALTHY, UNKNOWN", "DRAINING", "1:2 2:2"},
		{"", "DRAINING", "1:2 2:2"},
		{"HEALTHY, DRAINING, DEGRADED, UNKNOWN, UNHEALTHY", "UNHEALTHY", "1:2 2:2"},
		{"DRAINING", "HEALTHY", "0:2 1:2"},
	} {
		w := newAffinityWorld(t, cookieState(session), to("c"))
		w.has("c", test.statuses, w.in("a", 0, "0HEALTHY", "1HEALTHY"))
		w.reaches(m, "0", "1")
		cookie, _ := w.cookie(m, "0")
		without := "0:2 1:2"
		if test.health != "HEALTHY" {
			w.endpointsOf("c", w.in("a", 0, "0"+test.health, "1HEALTHY", "2UNKNOWN"))
			w.reaches(m, "2", "1")
			without = "1:2 2:2"
		}
		w.expect(fmt.Sprintf("with [%s] and an endpoint that is %s", test.statuses, test.health), w.calls(4, m, cookie), test.want)
		w.expect("without a cookie", w.calls(4, m, ""), without)
	}
}

// A draining endpoint without a connection gets one for its session.
func TestSessionOfALaterChannel(t *testing.T) {
	w := newAffinityWorld(t, cookieState(session), to("c"))
	w.has("c", "HEALTHY, DRAINING", w.in("a", 0, "0HEALTHY", "1HEALTHY"))
	cookie, _ := w.cookie(m, "0")
	w.endpointsOf("c", w.in("a", 0, "0DRAINING", "1HEALTHY"))
	env := newEnv(t, fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s]}`, w.entry()))
	w.cc = newChannel(t, env, "xds:///svc")
	w.expect("on another channel", w.calls(4, m, cookie), "0:4")
	w.expect("on another channel, without a cookie", w.calls(4, m, ""), "1:4")
	w.endpointsOf("c", w.in("a", 0, "0DRAINING"))
	ctx := soon(t)
	for { // until no new session has an endpoint
		if _, err := call(ctx, w.cc, m); err != nil {
			break
		}
	}
	w.expect("when all endpoints drain", w.calls(4, m, cookie), "0:4")
}

// The cookie chooses among the clusters of a route. Otherwise the weights do, and the endpoint may be in another cluster.
func TestSessionOfWeightedClusters(t *testing.T) {
	weighted := func(clusters ...string) string {
		text := ""
		for _, c := range clusters {
			text += fmt.Sprintf(`clusters { name: %q weight { value: 1 } }`, c)
		}
		return `routes { match { prefix: "" } route { weighted_clusters { ` + text + ` } } }`
	}
	w := newAffinityWorld(t, cookieState(session), weighted("one", "two"))
	w.has("one", "", w.in("a", 0, "0HEALTHY"))
	w.has("two", "", w.in("a", 0, "1HEALTHY", "2HEALTHY"))
	w.reaches(m, "0", "1", "2")
	cookie, _ := w.cookie(m, "1")
	w.expect("with a cookie", w.calls(40, m, cookie), "1:40")

	// The endpoint is gone. The session stays in the cluster, and gets another cookie.
	w.endpointsOf("two", w.in("a", 0, "2HEALTHY", "3HEALTHY"))
	w.reaches(m, "3")
	w.expect("after the endpoint was removed", w.calls(40, m, cookie), "2:20 3:20")
	if who, set := w.one(m, cookie); len(set) != 1 || strings.HasPrefix(set[0], cookie+";") {
		t.Errorf("%s sets the cookies %q; want a new one", who, set)
	}

	// The cluster is gone, and its endpoint is in another cluster of the route.
	w.has("three", "", w.in("a", 0, "3HEALTHY"))
	w.endpointsOf("one", w.in("a", 0, "0HEALTHY", "1HEALTHY"))
	w.routed(cookieState(session), weighted("one", "three"))
	ctx := soon(t)
	for who := ""; who != "1" && ctx.Err() == nil; { // which the cluster of the cookie does not have
		who, _ = w.one(m, cookie)
	}
	for got := make(map[string]bool); len(got) < 2; {
		who, set := w.one(m, cookie)
		if ctx.Err() != nil || who != "1" && who != "3" || len(set) != 1 {
			t.Fatalf("after the cluster was removed, %s handled the call and set the cookies %q; want 1 and 3, with new cookies", who, set)
		}
		got[who] = true
	}
}

// Overrides of routes change the cookie or disable the filter. A filter without a cookie is off until then.
func TestSessionByRoute(t *testing.T) {
	route := func(prefix, config string) string {
		return fmt.Sprintf(`routes { match { prefix: %q } route { cluster: "c" } %s } `, prefix, config)
	}
	other := overrideCookie(`stateful_session { ` + cookieState(`name: "other" ttl { seconds: 42 }`) + ` }`)
	w := newAffinityWorld(t, cookieState(session), route("/off", overrideCookie("disabled: true"))+route("/other", other)+
		route("/path", overrideCookie(`stateful_session { `+cookieState(`name: "path" path: "/path/M"`)+` }`))+to("c"))
	w.has("c", "", w.in("a", 0, "0HEALTHY", "1HEALTHY"))
	w.reaches(m, "0", "1")
	first, _ := w.cookie(m, "0")
	second, attributes := w.cookie("/other/M", "0")
	if attributes != "HttpOnly; Path=/; Max-Age=42" {
		t.Errorf("the attributes of the route's cookie are %q; want HttpOnly; Path=/; Max-Age=42", attributes)
	}
	third, attributes := w.cookie("/path/M", "0")
	if attributes != "HttpOnly; Path=/path/M" {
		t.Errorf("the attributes of a cookie with a path are %q; want HttpOnly; Path=/path/M", attributes)
	}
	for _, test := range []struct{ method, cookie, want string }{
		{"/off/M", first, "0:3 1:3"},
		{"/other/M", first, "0:3 1:3"},
		{"/other/M", second, "0:6"},
		{m, second, "0:3 1:3"},
		{m, first, "0:6"},
		{m, second + "; " + first, "0:6"},
		{"/path/M", third, "0:6"},
		{"/path/N", third, "0:3 1:3"},
	} {
		w.expect(test.method+" with "+test.cookie, w.calls(6, test.method, test.cookie), test.want)
	}
	for _, method := range []string{"/off/M", "/path/N"} {
		if _, set := w.one(method, ""); len(set) != 0 {
			t.Errorf("%s sets the cookies %q; want none", method, set)
		}
	}
	w.routed("", route("/on", other)+to("c"))
	ctx := soon(t)
	for {
		if _, set := w.one(m, ""); len(set) == 0 || ctx.Err() != nil {
			break // the filter is off
		}
	}
	third, _ = w.cookie("/on/M", "1")
	w.expect("of a filter that only the route enables", w.calls(5, "/on/M", third), "1:5")
}

// The cookie has all addresses of an endpoint. The session stays when another one of them connects.
func TestSessionOfAnEndpointWithAddresses(t *testing.T) {
	w := newAffinityWorld(t, cookieState(session), to("c"))
	port, err := loopback.Reserve()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = port.Close() })
	first := &backend{name: "first", port: int(netip.MustParseAddrPort(port.Addr()).Port())}
	w.endpointsOf("c", fmt.Sprintf(`endpoints { locality { region: "a" } load_balancing_weight { value: 1 }
		lb_endpoints { endpoint { address { socket_address { address: "127.0.0.1" port_value: %d } }
			additional_addresses { address { socket_address { address: "127.0.0.1" port_value: %d } } } } }
		lb_endpoints { endpoint { address { socket_address { address: "127.0.0.1" port_value: %d } } } } }`,
		first.port, w.backends[1].port, w.backends[2].port))
	w.set("c", new(clusterv3.Cluster), `name: "c" type: EDS eds_cluster_config { eds_config { ads {} } }`)
	w.reaches(m, "1", "2")
	cookie, _ := w.cookie(m, "1")
	_, value, _ := strings.Cut(cookie, "=")
	b, err := base64.StdEncoding.DecodeString(value)
	if want := fmt.Sprintf("127.0.0.1:%d,127.0.0.1:%d;c", w.backends[1].port, first.port); err != nil || string(b) != want {
		t.Errorf("the cookie is %q, %v; want the address in use first: %s", b, err, want)
	}
	w.expect("with a cookie", w.calls(5, m, cookie), "1:5")
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", port.Addr())
	if err != nil {
		t.Fatal(err)
	}
	first.start(t, l)
	w.backends[1].server.Stop()
	ctx := soon(t)
	for { // calls may fail until the other address is connected
		if got, err := call(ctx, w.cc, m); got == "first" {
			break
		} else if ctx.Err() != nil {
			t.Fatalf("no call reaches the first address: %v", err)
		}
	}
	w.expect("with a cookie, when another address is in use", w.calls(5, m, cookie), "first:5")
}

// Sessions stay on their endpoints, and none of their calls fails, while endpoints drain, return and change their
// priorities, and while the routes and the filter change.
func TestSessionsUnderChanges(t *testing.T) {
	w := newAffinityWorld(t, cookieState(session), to("c"))
	all := []string{"0HEALTHY", "1HEALTHY", "2HEALTHY", "3HEALTHY"}
	w.has("c", "HEALTHY, UNKNOWN, DRAINING", w.in("a", 0, all...))
	w.reaches(m, "0", "1", "2", "3")
	ctx, cancel := context.WithCancel(soon(t))
	defer cancel()
	var calls sync.WaitGroup
	made := make(chan struct{}, 100)
	for i := range 8 {
		calls.Go(func() {
			s := new(statefulsession.Session)
			first := ""
			for ctx.Err() == nil {
				who, err := call(s.Join(ctx), w.cc, m)
				if ctx.Err() != nil {
					return
				}
				if err != nil || first != "" && who != first {
					t.Errorf("session %d on %q: %q, %v", i, first, who, err)
					cancel()
					return
				}
				first = who
				select {
				case made <- struct{}{}:
				default:
				}
			}
		})
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i := 0; i < 150 && ctx.Err() == nil; i++ {
		var localities [2][]string
		for j, e := range all {
			if j > 0 && random.IntN(2) == 0 { // endpoint 0 takes new sessions
				e = e[:1] + "DRAINING"
			}
			at := random.IntN(2)
			if j == 0 {
				at = 0
			}
			localities[at] = append(localities[at], e)
		}
		w.endpointsOf("c", w.in("a", 0, localities[0]...), w.in("b", 1, localities[1]...))
		if i%10 == 0 {
			w.routed(cookieState(session+fmt.Sprintf(` ttl { seconds: %d }`, 1000+i)), to("c"))
		}
		for range 20 {
			select {
			case <-made:
			case <-ctx.Done():
			}
		}
	}
	cancel()
	calls.Wait()
}
