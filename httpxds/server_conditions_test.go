package httpxds_test

import (
	"bufio"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/httpxds"
)

// page is the response to each request of a handler.
func page(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "page") } // the client reports errors

// guarded returns a route of the handler with conditions. Other requests get 403.
func guarded(match string) string {
	return `routes { match { ` + match + ` } non_forwarding_action {} } routes { match { prefix: "" } direct_response { status: 403 } }`
}

// header returns the change of a request that sets a header.
func header(name string, values ...string) func(*http.Request) {
	return func(r *http.Request) { r.Header[http.CanonicalHeaderKey(name)] = values }
}

// TestServerConditions expects the routes of servers to match only requests that meet all their conditions.
func TestServerConditions(t *testing.T) {
	s := newSite(t, http.HandlerFunc(page), "", nil)
	const admin = `prefix: "/admin" `
	cookie := func(text string) string { return admin + `cookies { name: "session" ` + text + ` }` }
	secret := cookie(`string_match { exact: "secret" }`)
	inverted := cookie(`string_match { exact: "secret" } invert_match: true`)
	cases := []struct {
		match, path string
		change      func(*http.Request)
		want        int
	}{
		{secret, "/admin", nil, 403},
		{secret, "/admin", header("Cookie", "session=secret"), 200},
		{secret, "/admin", header("Cookie", `a=b; session="secret"`), 200},
		{secret, "/admin", header("Cookie", "a=b", "session=secret"), 200},
		{secret, "/admin", header("Cookie", "session=other; session=secret"), 403},
		{secret, "/admin", header("Cookie", "xsession=secret; session2=secret"), 403},
		{secret + `cookies { name: "b" string_match { prefix: "x" } }`, "/admin", header("Cookie", "session=secret"), 403},
		{secret + `cookies { name: "b" string_match { prefix: "x" } }`, "/admin", header("Cookie", "session=secret; b=xy"), 200},
		{inverted, "/admin", nil, 200},
		{inverted, "/admin", header("Cookie", "session=secret"), 403},
		{admin + `grpc {}`, "/admin", nil, 403},
		{admin + `grpc {}`, "/admin", header("Content-Type", "application/grpc"), 200},
		{admin + `grpc {}`, "/admin", header("Content-Type", "application/grpc+proto"), 200},
		{admin + `grpc {}`, "/admin", header("Content-Type", "application/grpc-web"), 403},
		{admin + `tls_context { presented { value: true } }`, "/admin", nil, 403},
		{admin + `tls_context { validated { value: true } }`, "/admin", nil, 403},
		{admin + `tls_context { presented {} validated {} }`, "/admin", nil, 200},
		{`path_separated_prefix: "/admin"`, "/admin", nil, 200},
		{`path_separated_prefix: "/admin"`, "/admin/x", nil, 200},
		{`path_separated_prefix: "/admin"`, "/admin?x", nil, 200},
		{`path_separated_prefix: "/admin"`, "/administrator", nil, 403},
		{`path_separated_prefix: "/admin"`, "/Admin/x", nil, 403},
		{`path_separated_prefix: "/admin" case_sensitive {}`, "/Admin/x", nil, 200},
	}
	var all strings.Builder
	for i, tt := range cases {
		fmt.Fprintf(&all, ` virtual_hosts { name: "v%d" domains: "h%d" %s }`, i, i, guarded(tt.match))
	}
	s.listen(chain("one", `route_config { name: "r" `+all.String()+` }`))
	s.serving("")
	for i, tt := range cases {
		for _, p := range []protocol{http1, h2c} {
			a, err := s.do(p.client(t), http.MethodGet, tt.path, func(r *http.Request) {
				r.Host = fmt.Sprint("h", i)
				if tt.change != nil {
					tt.change(r)
				}
			})
			if err != nil || a.code != tt.want {
				t.Errorf("%s: %s by %s gets %d, %v; want %d", tt.match, tt.path, p, a.code, err, tt.want)
			}
		}
	}
}

// A route for clients with a certificate matches only these.
func TestServerCertificateConditions(t *testing.T) {
	v := newVault(t)
	s := newSite(t, http.HandlerFunc(page), v.options, nil)
	optional := strings.Replace(mutualTLS, "require_client_certificate { value: true }", "", 1)
	s.listen(strings.TrimSuffix(chain("one", hosts(guarded(`prefix: "/admin" tls_context { presented { value: true } validated { value: true } }`))), "}") + optional + "}")
	s.serving("")
	https := func(r *http.Request) { r.URL.Scheme = "https" }
	for _, two := range []bool{false, true} {
		if a, err := s.do(v.httpsClient(t, two), http.MethodGet, "/admin", https); err != nil || a.code != 403 {
			t.Errorf("a client without a certificate gets %d, %v; want 403", a.code, err)
		}
		if a, err := s.do(v.httpsClient(t, two, v.client), http.MethodGet, "/admin", https); err != nil || a.code != 200 {
			t.Errorf("a client with a certificate gets %d, %v; want 200", a.code, err)
		}
	}
}

// stays is the client's policy for redirects: it returns them.
func stays(c *http.Client) *http.Client {
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c
}

// Requests to a virtual host that requires TLS get a redirect, unless they use it, or a trusted proxy says so.
func TestRequireTLS(t *testing.T) {
	required := func(who string) string {
		return `route_config { name: "r" virtual_hosts { name: "v" domains: "*" require_tls: ` + who + ` ` + anyRoute + ` } }`
	}
	const remote = ` use_remote_address { value: true } `
	const internal = remote + ` internal_address_config { cidr_ranges { address_prefix: "127.0.0.0" prefix_len { value: 8 } } } `
	for _, tt := range []struct {
		name, manager string
		change        func(*http.Request)
		code          int
	}{
		{"ALL", required("ALL"), header("X", "y"), 301},
		{"ALL, forged", required("ALL"), header("X-Forwarded-Proto", "https"), 301},
		{"ALL, forged, remote address", remote + required("ALL"), header("X-Forwarded-Proto", "https"), 301},
		{"ALL, trusted proxy", "xff_num_trusted_hops: 1 " + required("ALL"), header("X-Forwarded-Proto", "https"), 200},
		{"ALL, trusted proxy by http", "xff_num_trusted_hops: 1 " + required("ALL"), header("X-Forwarded-Proto", "http"), 301},
		{"ALL, trusted proxy by another scheme", "xff_num_trusted_hops: 1 " + required("ALL"), header("X-Forwarded-Proto", "ftp"), 301},
		{"EXTERNAL_ONLY", required("EXTERNAL_ONLY"), header("X", "y"), 301},
		{"EXTERNAL_ONLY, forged", required("EXTERNAL_ONLY"), header("X-Envoy-Internal", "true"), 301},
		{"EXTERNAL_ONLY, internal", internal + required("EXTERNAL_ONLY"), header("X", "y"), 200},
		{"EXTERNAL_ONLY, internal behind a proxy", internal + required("EXTERNAL_ONLY"), header("X-Forwarded-For", "127.0.0.2"), 301},
		{"NONE", required("NONE"), header("X", "y"), 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, http.HandlerFunc(page), "", nil)
			s.listen(chain("one", tt.manager))
			s.serving("")
			a, err := s.do(stays(http1.client(t)), http.MethodGet, "/a%20b?c=%2F", tt.change)
			want := ""
			if tt.code == 301 {
				want = "https://" + s.addr + "/a%20b?c=%2F"
			}
			if err != nil || a.code != tt.code || a.header.Get("Location") != want {
				t.Errorf("%d to %q, %v; want %d to %q", a.code, a.header.Get("Location"), err, tt.code, want)
			}
		})
	}
	t.Run("filters and TLS", func(t *testing.T) {
		v := newVault(t)
		s := newSite(t, http.HandlerFunc(page), v.options, nil)
		s.listen(chain("one", required("ALL")+filter("rbac.v3.RBAC", denied(`header { name: "x" present_match: true }`))))
		s.serving("")
		if a := s.get("/", header("X", "y")); a.code != 403 {
			t.Errorf("a request that a filter denies gets %d; want 403", a.code)
		}
		s.listen(withTLS(chain("two", required("ALL"))))
		s.until("a request by TLS succeeds", func() bool {
			a, err := s.do(v.httpsClient(t, true, v.client), http.MethodGet, "/", func(r *http.Request) { r.URL.Scheme = "https" })
			return err == nil && a.code == 200
		})
	})
}

// denied returns rules that deny requests with a principal.
func denied(principal string) string {
	return `rules { action: DENY policies { key: "p" value { permissions { any: true } principals { ` + principal + ` } } } }`
}

// host returns the status of a request with a Host.
func (s *site) host(host string) answer {
	s.Helper()
	c, err := (&net.Dialer{}).DialContext(s.ctx, "tcp", s.addr)
	check(s, err)
	defer c.Close()
	_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n")
	check(s, err)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	check(s, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	check(s, err)
	return answer{resp.StatusCode, resp.Header, string(body)}
}

// The settings of a manager and of a RouteConfiguration say which parts of the host matter.
func TestHostSettings(t *testing.T) {
	config := func(more string) string {
		return `route_config { name: "r" ` + more + ` virtual_hosts { name: "v" domains: "svc" ` + anyRoute + ` } virtual_hosts { name: "w" domains: "[::1]" ` + anyRoute + ` } }`
	}
	type hosts map[string]string // the host that the handler sees; "": 404
	for name, tt := range map[string]struct {
		manager string
		want    hosts
	}{
		"none":                 {config(""), hosts{"svc": "svc", "SVC": "SVC", "svc:PORT": "", "svc:81": "", "svc.": "", "svc.:81": ""}},
		"any port":             {`strip_any_host_port: true ` + config(""), hosts{"svc": "svc", "svc:PORT": "svc", "svc:81": "svc", "svc.": "", "[::1]:81": "[::1]", "[::1]": "[::1]"}},
		"own port":             {`strip_matching_host_port: true ` + config(""), hosts{"svc:PORT": "svc", "svc:81": "", "[::1]:PORT": "[::1]"}},
		"dot":                  {`strip_trailing_host_dot: true ` + config(""), hosts{"svc.": "svc", "svc": "svc", "svc.:81": "", "svc..": ""}},
		"dot and port":         {`strip_trailing_host_dot: true strip_any_host_port: true ` + config(""), hosts{"svc.:81": "svc"}},
		"port for the routes":  {config("ignore_port_in_host_matching: true"), hosts{"svc:81": "svc:81", "svc": "svc", "svc.:81": "", "[::1]:81": "[::1]:81"}},
		"port and dot (route)": {`strip_trailing_host_dot: true ` + config("ignore_port_in_host_matching: true"), hosts{"svc.:81": "svc:81"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Host) }), "", nil)
			s.listen(chain("one", tt.manager))
			s.serving("")
			for host, want := range tt.want {
				host = strings.ReplaceAll(host, "PORT", fmt.Sprint(s.port))
				a := s.host(host)
				if want == "" && a.code != 404 || want != "" && (a.code != 200 || a.body != want) {
					t.Errorf("Host: %s gets %d %q; want %q, or else 404", host, a.code, a.body, want)
				}
			}
		})
	}
	s := newSite(t, http.HandlerFunc(page), "", nil)
	s.listen(chain("one", `strip_matching_host_port: true strip_any_host_port: true `+config("")))
	s.serving("strip_any_host_port = true; must not be set beside strip_matching_host_port")
}

// The overrides of a RouteConfiguration apply to all its routes. Those of virtual hosts and routes replace them.
func TestOverridesOfRouteConfigurations(t *testing.T) {
	s := newSite(t, http.HandlerFunc(page), "", nil)
	deny := override("rbac.v3.RBACPerRoute", "rbac { "+denied("any: true")+" }")
	allow := override("rbac.v3.RBACPerRoute", "")
	s.listen(chain("one", `route_config { name: "r" `+deny+`
		virtual_hosts { name: "v" domains: "strict" `+onRoute("/open", allow)+onRoute("/", "")+` }
		virtual_hosts { name: "w" domains: "open" `+allow+onRoute("/closed", deny)+onRoute("/", "")+` } }`+filter("rbac.v3.RBAC", "")))
	s.serving("")
	for _, tt := range []struct {
		host, path string
		want       int
	}{
		{"strict", "/", 403}, {"strict", "/open", 200}, {"open", "/", 200}, {"open", "/closed", 403}, {"other", "/", 404},
	} {
		if a := s.get(tt.path, func(r *http.Request) { r.Host = tt.host }); a.code != tt.want {
			t.Errorf("%s%s gets %d; want %d", tt.host, tt.path, a.code, tt.want)
		}
	}
}

// An override of the RouteConfiguration that no filter of the server reads is rejected, as those of routes are.
func TestUnknownOverrideOfRouteConfigurations(t *testing.T) {
	s := newSite(t, http.HandlerFunc(page), "", nil)
	s.listen(chain("one", `route_config { name: "r" typed_per_filter_config { key: "x" value { [type.googleapis.com/google.protobuf.StringValue] {} } }
		virtual_hosts { name: "v" domains: "*" `+anyRoute+` } }`))
	s.serving("typed_per_filter_config[x] = \"google.protobuf.StringValue\"; must be of a filter that is registered")
}

// seenHeaders responds with headers of the request.
func seenHeaders(names ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for _, name := range names {
			_, _ = fmt.Fprintf(w, "%s=%s|", name, strings.Join(r.Header[name], "+")) // the client reports errors
		}
	}
}

// Each mode treats X-Forwarded-Client-Cert as Envoy documents, with a client certificate and without one.
func TestClientCertDetails(t *testing.T) {
	const name = "X-Forwarded-Client-Cert"
	v := newVault(t)
	client, err := v.ca.Issue(x509.Certificate{DNSNames: []string{"a.example", "b;c"}, URIs: []*url.URL{{Scheme: "spiffe", Host: "mesh", Path: "/a,b"}}})
	check(t, err)
	optional := strings.Replace(mutualTLS, "require_client_certificate { value: true }", "", 1)
	digest := fmt.Sprintf("%x", sha256.Sum256(client.Certificate[0]))
	for _, tt := range []struct{ manager, plain, without, with string }{
		{"", "", "", ""},
		{"forward_client_cert_details: SANITIZE", "", "", ""},
		{"forward_client_cert_details: FORWARD_ONLY", "", "", "forged"},
		{"forward_client_cert_details: APPEND_FORWARD", "", "", "forged,Hash=" + digest},
		{"forward_client_cert_details: SANITIZE_SET", "", "", "Hash=" + digest},
		{"forward_client_cert_details: ALWAYS_FORWARD_ONLY", "forged", "forged", "forged"},
		{
			"forward_client_cert_details: SANITIZE_SET set_current_client_cert_details { subject { value: true } uri: true dns: true }", "", "",
			"Hash=" + digest + `;Subject="";URI="spiffe://mesh/a,b";DNS=a.example;DNS="b;c"`,
		},
	} {
		t.Run(tt.manager, func(t *testing.T) {
			s := newSite(t, seenHeaders(name), v.options, nil)
			s.listen(chain("one", tt.manager+" "+hosts(anyRoute)))
			s.serving("")
			if a := s.get("/", header(name, "forged")); a.body != name+"="+tt.plain+"|" {
				t.Errorf("without TLS: %s; want %q", a.body, tt.plain)
			}
			s.listen(strings.TrimSuffix(chain("two", tt.manager+" "+hosts(anyRoute)), "}") + optional + "}")
			https := func(r *http.Request) { r.URL.Scheme = "https" }
			var without answer
			s.until("the server speaks TLS", func() bool {
				var err error
				without, err = s.do(v.httpsClient(t, false), http.MethodGet, "/", https, header(name, "forged"))
				return err == nil
			})
			if without.body != name+"="+tt.without+"|" {
				t.Errorf("without a certificate: %s; want %q", without.body, tt.without)
			}
			c := v.httpsClient(t, true, client)
			for range 2 { // the second time, the description is known
				with, err := s.do(c, http.MethodGet, "/", https, header(name, "forged"))
				if err != nil || with.body != name+"="+tt.with+"|" {
					t.Errorf("with a certificate: %s, %v; want %q", with.body, err, tt.with)
				}
			}
		})
	}
}

// RBAC rules of remote_ip see the client behind trusted proxies, and those of direct_remote_ip the peer.
func TestClientAddress(t *testing.T) {
	ip := func(field, addr string) string {
		return filter("rbac.v3.RBAC", denied(fmt.Sprintf(`%s { address_prefix: %q prefix_len { value: 32 } }`, field, addr)))
	}
	const remote, hop = ` use_remote_address { value: true } `, ` xff_num_trusted_hops: 1 `
	list := header("X-Forwarded-For", "9.9.9.9, 8.8.8.8")
	for _, tt := range []struct {
		name, manager string
		change        func(*http.Request)
		want          int
	}{
		{"the last address", ip("remote_ip", "8.8.8.8"), list, 403},
		{"an earlier address", ip("remote_ip", "9.9.9.9"), list, 200},
		{"two lines", ip("remote_ip", "8.8.8.8"), header("X-Forwarded-For", "9.9.9.9", " 8.8.8.8 "), 403},
		{"the peer is not the client", ip("remote_ip", "127.0.0.1"), list, 200},
		{"the peer", ip("direct_remote_ip", "127.0.0.1"), list, 403},
		{"the source", ip("source_ip", "127.0.0.1"), list, 403},
		{"the header does not change the peer", ip("direct_remote_ip", "8.8.8.8"), list, 200},
		{"no header", ip("remote_ip", "127.0.0.1"), func(*http.Request) {}, 403},
		{"not an address", ip("remote_ip", "127.0.0.1"), header("X-Forwarded-For", "8.8.8.8, unknown"), 403},
		{"remote address", remote + ip("remote_ip", "127.0.0.1"), list, 403},
		{"remote address, forged", remote + ip("remote_ip", "8.8.8.8"), list, 200},
		{"a trusted hop", hop + ip("remote_ip", "9.9.9.9"), list, 403},
		{"a trusted hop, its own address", hop + ip("remote_ip", "8.8.8.8"), list, 200},
		{"trusted hops beyond the header", ` xff_num_trusted_hops: 2 ` + ip("remote_ip", "127.0.0.1"), list, 403},
		{"remote address and a trusted hop", remote + hop + ip("remote_ip", "8.8.8.8"), list, 403},
		{"remote address and trusted hops beyond the header", remote + ` xff_num_trusted_hops: 3 ` + ip("remote_ip", "127.0.0.1"), list, 403},
		{"IPv6", ip("remote_ip", "2001:db8::1"), header("X-Forwarded-For", "[2001:db8::1]"), 403},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, http.HandlerFunc(page), "", nil)
			s.listen(chain("one", hosts(anyRoute)+tt.manager))
			s.serving("")
			if a := s.get("/", tt.change); a.code != tt.want {
				t.Errorf("the status is %d; want %d", a.code, tt.want)
			}
		})
	}
}

// The headers that describe the client are right at the endpoint to which a server forwards.
func TestForwardedHeaders(t *testing.T) {
	const end = "|"
	names := []string{"X-Forwarded-For", "X-Forwarded-Proto", "X-Envoy-External-Address", "X-Envoy-Internal"}
	endpoint, err := url.Parse("http://" + serve(t, seenHeaders(names...)))
	check(t, err)
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(endpoint)
		for _, name := range []string{"X-Forwarded-For", "X-Forwarded-Proto"} {
			r.Out.Header[name] = r.In.Header[name]
		}
	}}
	const remote = ` use_remote_address { value: true } `
	for _, tt := range []struct {
		manager string
		change  func(*http.Request)
		want    []string // the values of names
	}{
		{"", func(*http.Request) {}, []string{"", "http", "", ""}},
		{"", header("X-Forwarded-For", "9.9.9.9"), []string{"9.9.9.9", "http", "", ""}},
		{"", header("X-Envoy-Internal", "true"), []string{"", "http", "", ""}},
		{remote, func(*http.Request) {}, []string{"127.0.0.1", "http", "127.0.0.1", ""}},
		{remote, header("X-Forwarded-For", "9.9.9.9", "8.8.8.8"), []string{"9.9.9.9, 8.8.8.8, 127.0.0.1", "http", "127.0.0.1", ""}},
		{remote, header("X-Forwarded-Proto", "https"), []string{"127.0.0.1", "http", "127.0.0.1", ""}},
		{remote, header("X-Envoy-External-Address", "9.9.9.9"), []string{"127.0.0.1", "http", "127.0.0.1", ""}},
		{remote + `skip_xff_append: true`, header("X-Forwarded-For", "9.9.9.9"), []string{"9.9.9.9", "http", "127.0.0.1", ""}},
		{remote + `xff_num_trusted_hops: 1`, header("X-Forwarded-For", "9.9.9.9, 8.8.8.8"), []string{"9.9.9.9, 8.8.8.8, 127.0.0.1", "http", "8.8.8.8", ""}},
		{"xff_num_trusted_hops: 1", header("X-Forwarded-Proto", "https"), []string{"", "https", "", ""}},
		{
			remote + `internal_address_config { cidr_ranges { address_prefix: "127.0.0.0" prefix_len { value: 8 } } }`,
			func(*http.Request) {},
			[]string{"127.0.0.1", "http", "", "true"},
		},
	} {
		s := newSite(t, http.HandlerFunc(page), "", nil, httpxds.WithForwarding(forward))
		s.listen(chain("one", tt.manager+" "+hosts(`routes { match { prefix: "/" } route { cluster: "c" } }`)))
		s.serving("")
		var want strings.Builder
		for i, name := range names {
			want.WriteString(name + "=" + tt.want[i] + end)
		}
		if a := s.get("/", tt.change); a.body != want.String() {
			t.Errorf("%s: the endpoint sees %s; want %s", tt.manager, a.body, want.String())
		}
	}
}

// RBAC rules of the requested server name see that of the TLS handshake.
func TestRequestedServerName(t *testing.T) {
	v := newVault(t)
	s := newSite(t, http.HandlerFunc(page), v.options, nil)
	rules := `rules { action: DENY policies { key: "p" value { principals { any: true } permissions { requested_server_name { exact: "server.example" } } } } }`
	s.listen(withTLS(chain("one", hosts(anyRoute)+filter("rbac.v3.RBAC", rules))))
	s.serving("")
	for name, want := range map[string]int{"server.example": 403, "": 200} {
		tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: v.ca.Pool(), Certificates: []tls.Certificate{v.client}, ServerName: name, MinVersion: tls.VersionTLS12}}
		t.Cleanup(tr.CloseIdleConnections)
		a, err := s.do(&http.Client{Transport: tr, Timeout: time.Minute}, http.MethodGet, "/", func(r *http.Request) { r.URL.Scheme = "https" })
		if err != nil || a.code != want {
			t.Errorf("the server name %q gets %d, %v; want %d", name, a.code, err, want)
		}
	}
}

// TestNominatedHeaders expects a client not to have a proxy remove the headers that describe the client.
func TestNominatedHeaders(t *testing.T) {
	s := newSite(t, http.HandlerFunc(page), "", nil)
	s.listen(chain("one", hosts(anyRoute)))
	s.serving("")
	for value, want := range map[string]int{
		"keep-alive": 200, "x-forwarded-client-certs": 200, "x-forwarded-client-cert": 400, "close, X-Forwarded-For": 400,
		"X-Forwarded-Proto": 400, "x-envoy-internal": 400, "a,x-envoy-external-address , b": 400,
	} {
		if a, err := s.do(http1.client(t), http.MethodGet, "/", header("Connection", value)); err != nil || a.code != want {
			t.Errorf("Connection: %s gets %d, %v; want %d", value, a.code, err, want)
		}
	}
}
