package httpxds_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/original_dst/v3"   // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/proxy_protocol/v3" // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/rbac/v3"            // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/path/match/uri_template/v3"         // for prototext

	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/listener"
)

// A rejection is a resource with a field that is not evaluated, and the path of the field with the start of the reason.
type rejection struct{ name, text, path string }

const (
	stringAny   = `typed_config { [type.googleapis.com/google.protobuf.StringValue] {} }`
	matcherText = `on_no_match { action { name: "a" ` + stringAny + ` } }`
	specifiers  = ` route_specifiers { name: "s" ` + stringAny + ` } `
	// blockAll is the RBAC of connections that denies all.
	blockAll = `filters { name: "rbac" typed_config { [type.googleapis.com/envoy.extensions.filters.network.rbac.v3.RBAC] { stat_prefix: "s"
		rules { action: DENY policies { key: "p" value { permissions { any: true } principals { any: true } } } } } } }`
	local = `direct_response { status: 200 } `
	// providers is the part of a bootstrap with certificates that no test loads.
	providers = `"certificate_providers": {"files": {"plugin_name": "file_watcher", "config": {
		"certificate_file": "cert.pem", "private_key_file": "key.pem", "ca_certificate_file": "ca.pem"}}},`
)

// rejectedRoutes are rejected in the RouteConfiguration of a server and of a client.
var rejectedRoutes = []rejection{
	{"dynamic_metadata", vhost(`routes { match { prefix: "/" dynamic_metadata { filter: "f" path { key: "k" } value { present_match: true } } } ` + local + `}`), "routes[0].match.dynamic_metadata; must not be set"},
	{"filter_state", vhost(`routes { match { prefix: "/" filter_state { key: "k" string_match { exact: "a" } } } ` + local + `}`), "routes[0].match.filter_state; must not be set"},
	{"path_match_policy", vhost(`routes { match { prefix: "/a" } ` + local + `} routes { match { path_match_policy { name: "t" typed_config {
		[type.googleapis.com/envoy.extensions.path.match.uri_template.v3.UriTemplateMatchConfig] { path_template: "/admin/*" } } } } ` + local + `}`), "routes[1].match; must have exactly one of prefix"},
	{"connect_matcher", vhost(`routes { match { connect_matcher {} } ` + local + `}`), "routes[0].match; must have exactly one of prefix"},
	{"specifiers of a configuration", vhost(to("c")) + specifiers, "route_config.route_specifiers; must not be set"},
	{"specifiers of a host", vhost(specifiers + to("c")), "virtual_hosts[0].route_specifiers; must not be set"},
	{"specifiers of a route", vhost(`routes { match { prefix: "/" } ` + local + specifiers + `}`), "virtual_hosts[0].routes[0].route_specifiers; must not be set"},
	{"matcher of a host", vhost(to("c") + ` matcher { ` + matcherText + ` }`), "virtual_hosts[0].matcher; must not be set"},
	{"vhost_header", vhost(to("c")) + ` vhost_header: "x-host"`, `vhost_header = "x-host"; must be ""`},
	{"internal_only_headers", vhost(to("c")) + ` internal_only_headers: "x-user"`, "internal_only_headers; must not be set"},
	{"path parameters", vhost(to("c")) + ` ignore_path_parameters_in_path_matching: true`, "ignore_path_parameters_in_path_matching = true; must be false"},
}

// vhost returns a virtual host for all hosts.
func vhost(contents string) string {
	return `virtual_hosts { name: "v" domains: "*" ` + contents + ` }`
}

// rejectedManagers are rejected in the HttpConnectionManager of a server and of a client. Nothing is set for the routes.
var rejectedManagers = []rejection{
	{"detection of addresses", `route_config { name: "r" ` + vhost(to("c")) + ` } original_ip_detection_extensions { name: "x" ` + stringAny + ` }`, "original_ip_detection_extensions; must not be set"},
	{"scopes", `scoped_routes {}`, "must have exactly one of rds, route_config set"},
	{"routes from elsewhere", `rds { route_config_name: "r" config_source { path: "/x" } }`, "rds.config_source; must have exactly one of ads, self set"},
	{"two filters of one name", `route_config { name: "r" ` + vhost(to("c")) + ` } ` + strings.Replace(filter("rbac.v3.RBAC", ""), `name: "rbac"`, `name: "router"`, 1), `http_filters[1].name = "router"; must be unique`},
}

// rejectedListeners are the Listeners of a server with other fields.
func rejectedListeners() []rejection {
	plain := chain("one", hosts(anyRoute))
	all := []rejection{
		{"RBAC before the manager", strings.Replace(plain, "filters {", blockAll+" filters {", 1), "filter_chains[0].filters; must have 1 element"},
		{"RBAC before the manager of the default chain", plain + " " + strings.Replace(strings.Replace(plain, "filters {", blockAll+" filters {", 1), "filter_chains", "default_filter_chain", 1), "default_filter_chain.filters; must have 1 element"},
		{"two managers", strings.Replace(plain, "filters {", strings.TrimSuffix(strings.TrimPrefix(plain, `filter_chains { name: "one" `), " }")+" filters {", 1), "filter_chains[0].filters; must have 1 element"},
		{"a filter that is discovered", `filter_chains { filters { name: "x" config_discovery { config_source { ads {} } type_urls: "t" } } }`, "filter_chains[0].filters[0].typed_config; must be set"},
		{"PROXY protocol", plain + ` listener_filters { name: "p" typed_config { [type.googleapis.com/envoy.extensions.filters.listener.proxy_protocol.v3.ProxyProtocol] {} } }`, "listener_filters[0].typed_config ="},
		{"PROXY protocol of older control planes", strings.Replace(plain, "filters {", "use_proxy_proto { value: true } filters {", 1), "filter_chains[0].use_proxy_proto = true; must be false"},
		{"original destinations", plain + ` listener_filters { name: "o" typed_config { [type.googleapis.com/envoy.extensions.filters.listener.original_dst.v3.OriginalDst] {} } }`, "OriginalDst\"; must be a TlsInspector"},
		{"use_original_dst", plain + ` use_original_dst { value: true }`, "use_original_dst = true; must be false"},
		{"filter_chain_matcher", plain + ` filter_chain_matcher { ` + matcherText + ` }`, "filter_chain_matcher; must not be set"},
		{"two chains of one match", plain + " " + plain, "filter_chains[1].filter_chain_match"},
		{"server names", strings.Replace(plain, "filters {", `filter_chain_match { server_names: "a.example" } filters {`, 1), "filter_chains[0].filter_chain_match.server_names; must not be set"},
		{"application protocols", strings.Replace(plain, "filters {", `filter_chain_match { application_protocols: "h2" } filters {`, 1), "filter_chain_match.application_protocols; must not be set"},
		{"transport protocol", strings.Replace(plain, "filters {", `filter_chain_match { transport_protocol: "tls" } filters {`, 1), `filter_chain_match.transport_protocol = "tls"; must be`},
		{"early changes of headers", chain("one", hosts(anyRoute)+` early_header_mutation_extensions { name: "x" `+stringAny+` }`), "early_header_mutation_extensions; must not be set"},
		{"few intermediate certificates", strings.Replace(withTLS(plain), "validation_context {", "validation_context { max_verify_depth { value: 1 }", 1), "max_verify_depth = 1; must be at least 100"},
		{"certificates by a selector", strings.Replace(withTLS(plain), "common_tls_context {", `common_tls_context { custom_tls_certificate_selector { name: "s" `+stringAny+` }`, 1), "custom_tls_certificate_selector; must not be set"},
		{"two settings of ports", chain("one", hosts(anyRoute)+` strip_matching_host_port: true strip_any_host_port: true`), "strip_any_host_port = true; must not be set"},
	}
	managers := append(slices.Clone(rejectedManagers),
		rejection{"RBAC by a matcher", `route_config { name: "r" ` + vhost(to("c")) + ` } ` + filter("rbac.v3.RBAC", `matcher { `+matcherText+` }`), "typed_config.matcher; must not be set"},
		rejection{"RBAC by a matcher for a host", `route_config { name: "r" ` + vhost(to("c")+override("rbac.v3.RBACPerRoute", `rbac { matcher { `+matcherText+` } }`)) + ` } ` + filter("rbac.v3.RBAC", ""), "rbac.matcher; must not be set"},
	)
	for _, r := range managers {
		all = append(all, rejection{r.name, chain("one", r.text), r.path})
	}
	for _, r := range rejectedRoutes {
		all = append(all, rejection{r.name, chain("one", `route_config { name: "r" `+r.text+` }`), r.path})
	}
	return all
}

// TestRejectedListeners expects a server not to serve a Listener with a field that it would have to ignore, and to report the
// path of the field.
func TestRejectedListeners(t *testing.T) {
	for _, r := range rejectedListeners() {
		t.Run(r.name, func(t *testing.T) {
			s := newSite(t, http.HandlerFunc(page), providers, nil)
			s.listen(r.text)
			s.serving(r.path)
			c, err := (&net.Dialer{}).DialContext(s.ctx, "tcp", s.addr)
			check(t, err)
			defer c.Close()
			check(t, c.SetDeadline(time.Now().Add(10*time.Second)))
			_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: svc\r\n\r\n") // the server may have closed the connection
			answer, err := io.ReadAll(c)
			if e := net.Error(nil); len(answer) > 0 || errors.As(err, &e) && e.Timeout() {
				t.Errorf("the server responds with %q, %v; want that it closes the connection", answer, err)
			}
			s.listen(chain("one", hosts(anyRoute)))
			s.serving("")
			if a := s.get("/"); a.body != "page" {
				t.Errorf("the server with another Listener responds with %d %q", a.code, a.body)
			}
		})
	}
}

// TestRejectedUpdates expects a server to keep its Listener when it rejects another one.
func TestRejectedUpdates(t *testing.T) {
	s := openSite(t, http.HandlerFunc(page), providers, nil, false)
	s.listen(chain("one", hosts(`routes { match { prefix: "/" } direct_response { status: 418 } }`)))
	s.serving("")
	for i, r := range rejectedListeners() {
		s.listen(r.text)
		seen := 0
		_, err := s.plane.AwaitRequest(s.ctx, func(q *discoveryv3.DiscoveryRequest) bool {
			if q.GetErrorDetail() != nil {
				seen++
			}
			return seen > i && strings.Contains(q.GetErrorDetail().GetMessage(), r.path)
		})
		if err != nil {
			t.Fatalf("%s: %v; the rejections are %q", r.name, err, s.plane.Rejections())
		}
		if a := s.get("/"); a.code != http.StatusTeapot {
			t.Errorf("%s: the server responds with %d; want 418 by the last valid Listener", r.name, a.code)
		}
	}
}

// rejectedClusters are the settings of clusters that clients reject.
func rejectedClusters() []rejection {
	upstream := func(more, context string) string {
		return `transport_socket { name: "t" typed_config { [type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext] {
			common_tls_context { ` + context + ` validation_context { ca_certificate_provider_instance { instance_name: "files" } ` + more + ` } } } } }`
	}
	return []rejection{
		{"transport_socket_matches", `transport_socket_matches { name: "m" transport_socket { name: "t" } }`, "transport_socket_matches; must not be set"},
		{"transport_socket_matcher", `transport_socket_matcher {}`, "transport_socket_matcher; must not be set"},
		{"subsets", `lb_subset_config { fallback_policy: ANY_ENDPOINT subset_selectors { keys: "v" } }`, "lb_subset_config.subset_selectors = 1; must be empty"},
		{"load reports to others", `lrs_server { ads {} }`, "lrs_server; must have self set"},
		{"other connections", `upstream_config { name: "u" ` + stringAny + ` }`, "upstream_config.typed_config; must be"},
		{"few intermediate certificates", upstream("max_verify_depth { value: 1 }", ""), "max_verify_depth = 1; must be at least 100"},
		{"certificates by a selector", upstream("", `custom_tls_certificate_selector { name: "s" `+stringAny+` }`), "custom_tls_certificate_selector; must not be set"},
		{"names of requests", upstream("", "") + ` upstream_http_protocol_options { auto_sni: true }`, "auto_sni = true; must be false"},
		{"names of requests in certificates", upstream("", "") + ` upstream_http_protocol_options { auto_san_validation: true }`, "auto_san_validation = true; must be false"},
	}
}

// TestRejectedByClients expects requests to fail with the path of a field that the client would have to ignore.
func TestRejectedByClients(t *testing.T) {
	endpoint := serve(t, named("endpoint"))
	fails := func(t *testing.T, w *world, path string) {
		t.Helper()
		if got, err := get(t, w.transport(), "http://svc/"); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("the client gets %q, %v; want an error with %q", got, err, path)
		}
	}
	for _, r := range rejectedRoutes {
		t.Run(r.name, func(t *testing.T) {
			w := newWorld(t)
			w.trust("ca.pem")
			w.hosts("%s", r.text)
			w.cluster("c", "", endpoint)
			fails(t, w, r.path)
		})
	}
	for _, r := range rejectedManagers {
		t.Run(r.name, func(t *testing.T) {
			w := newWorld(t)
			w.trust("ca.pem")
			w.managed(r.text)
			w.cluster("c", "", endpoint)
			fails(t, w, r.path)
		})
	}
	for _, r := range rejectedClusters() {
		t.Run(r.name, func(t *testing.T) {
			w := newWorld(t)
			w.trust("ca.pem")
			w.routes("%s", to("c"))
			w.cluster("c", r.text, endpoint)
			fails(t, w, r.path)
		})
	}
}

// TestRejectedUpdatesOfClients expects requests to follow the last valid resources.
func TestRejectedUpdatesOfClients(t *testing.T) {
	endpoint := serve(t, named("endpoint"))
	w := newWorld(t)
	w.trust("ca.pem")
	w.routes("%s", to("c"))
	w.cluster("c", "", endpoint)
	rt := w.transport()
	works := func(what string) {
		t.Helper()
		if got, err := get(t, rt, "http://svc/"); err != nil || got != "endpoint HTTP/1.1" {
			t.Errorf("%s: the client gets %q, %v; want the response of the endpoint", what, got, err)
		}
	}
	works("valid resources")
	for _, r := range rejectedRoutes {
		w.hosts("%s", r.text)
		w.plane.WantRejected(listener.Type(), r.path)
		works(r.name)
	}
	for _, r := range rejectedManagers {
		w.managed(r.text)
		w.plane.WantRejected(listener.Type(), r.path)
		works(r.name)
	}
	for _, r := range rejectedClusters() {
		w.cluster("c", r.text, endpoint)
		w.plane.WantRejected(cluster.Type(), r.path)
		works(r.name)
	}
}
