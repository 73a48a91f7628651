package httpxds_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/httpxds"
)

// protocols are the protocols of connections without TLS, as the server sees them.
var protocols = map[httpxds.Protocol]string{httpxds.HTTP1: "HTTP/1.1", httpxds.HTTP2: "HTTP/2.0"}

// TestTransport expects requests to be spread over the endpoints of the cluster of their route, and to follow changes.
func TestTransport(t *testing.T) {
	for protocol, proto := range protocols {
		t.Run(proto, func(t *testing.T) {
			w := newWorld(t)
			a, b, c := serve(t, named("a")), serve(t, named("b")), serve(t, named("c"))
			w.cluster("ab", "", a, b)
			w.cluster("c", "", c)
			w.routes(`routes { match { prefix: "/c/" } route { cluster: "c" } } %s`, to("ab"))
			rt := w.transport(httpxds.WithProtocol(protocol))
			counts := make(map[string]int)
			until(t, func() (bool, string) { // both endpoints are connected
				body, err := get(t, rt, "http://svc/")
				counts[body]++
				return len(counts) == 2, fmt.Sprint(body, err)
			})
			clear(counts)
			for range 100 {
				body, err := get(t, rt, "http://svc/")
				if err != nil {
					t.Fatal(err)
				}
				counts[body]++
			}
			if counts["a "+proto] < 30 || counts["b "+proto] < 30 || len(counts) != 2 {
				t.Errorf("100 requests were answered by %v, want a and b in turn by %s", counts, proto)
			}
			if body, err := get(t, rt, "http://svc/c/x"); body != "c "+proto {
				t.Errorf("/c/x: %q, %v, want c", body, err)
			}
			w.endpoints("ab", b)
			until(t, func() (bool, string) {
				for range 10 {
					if body, err := get(t, rt, "http://svc/"); body != "b "+proto {
						return false, fmt.Sprintf("%q, %v", body, err)
					}
				}
				return true, ""
			})
		})
	}
}

// until repeats a step until it succeeds.
func until(t *testing.T, step func() (ok bool, last string)) {
	t.Helper()
	ctx := soon(t)
	for {
		ok, last := step()
		if ok {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("it never succeeds; the last result is %s", last)
		}
	}
}

// TestReasons expects the error of a request to name the part that failed.
func TestReasons(t *testing.T) {
	w := newWorld(t)
	w.cluster("empty", "")
	w.cluster("dead", "", "127.0.0.1:1")
	w.routes(`routes { match { prefix: "/empty" } route { cluster: "empty" } }
		routes { name: "d" match { prefix: "/dead" } route { cluster: "dead" } }
		routes { name: "n" match { prefix: "/non" } non_forwarding_action {} }`)
	rt := w.transport()
	for path, want := range map[string]httpxds.Error{
		"/empty": {Reason: httpxds.NoEndpoint, Cluster: "empty"},
		"/dead":  {Reason: httpxds.NoEndpoint, Route: "d", Cluster: "dead"},
		"/non":   {Reason: httpxds.NoRoute, Route: "n"},
		"/x":     {Reason: httpxds.NoRoute},
	} {
		_, err := get(t, rt, "http://svc"+path)
		var got *httpxds.Error
		if !errors.As(err, &got) || got.Reason != want.Reason || got.Route != want.Route || got.Cluster != want.Cluster {
			t.Errorf("%s: %v; want %v of route %q and cluster %q", path, err, want.Reason, want.Route, want.Cluster)
		}
	}
}

// TestReady expects Ready to connect a cluster, and to return the reason if the target cannot be configured.
func TestReady(t *testing.T) {
	w := newWorld(t)
	w.cluster("a", "", serve(t, named("a")))
	w.routes("%s", to("a"))
	if err := w.transport().Ready(soon(t)); err != nil {
		t.Errorf("Ready: %v", err)
	}
	w = newWorld(t)
	w.hosts(`virtual_hosts { name: "h" domains: "other" routes { match { prefix: "" } route { cluster: "a" } } }`)
	if err := w.transport().Ready(soon(t)); err == nil || !strings.Contains(err.Error(), `none is for the authority "svc"`) {
		t.Errorf("Ready without a virtual host: %v", err)
	}
}

// TestClose expects requests to fail after Close.
func TestClose(t *testing.T) {
	w := newWorld(t)
	w.cluster("a", "", serve(t, named("a")))
	w.routes("%s", to("a"))
	rt := w.transport()
	if _, err := get(t, rt, "http://svc/"); err != nil {
		t.Fatal(err)
	}
	targets, err := w.env.Targets(soon(t))
	if err != nil || len(targets) != 1 || targets[0].Target != "xds:///svc" || targets[0].State != "READY" || len(targets[0].Clusters) != 1 {
		t.Errorf("the Env describes the targets %v, %v; want one with its cluster", targets, err)
	}
	if err := errors.Join(rt.Close(), rt.Close()); err != nil {
		t.Error(err)
	}
	if targets, err := w.env.Targets(soon(t)); len(targets) != 0 {
		t.Errorf("the Env describes the targets %v, %v after Close", targets, err)
	}
	if _, err := get(t, rt, "http://svc/"); err == nil || !strings.Contains(err.Error(), "the Transport is closed") {
		t.Errorf("a request after Close: %v", err)
	}
}

// TestNewTransport expects an error for targets that can never be configured, and for options without a value.
func TestNewTransport(t *testing.T) {
	w := newWorld(t)
	for _, target := range []string{"", "svc", "xds://nowhere/svc", "dns:///svc"} {
		if _, err := httpxds.NewTransport(target, httpxds.WithEnv(w.env)); err == nil {
			t.Errorf("target %q: no error", target)
		}
	}
	for _, o := range []httpxds.Option{httpxds.WithAuthority(""), httpxds.WithBase(nil), httpxds.WithProtocol(9)} {
		if _, err := httpxds.NewTransport("xds:///svc", httpxds.WithEnv(w.env), o); err == nil {
			t.Error("an option without a value: no error")
		}
	}
}

// TestHosts expects each host to have its own target, and other hosts to have the fallback.
func TestHosts(t *testing.T) {
	w := newWorld(t)
	w.cluster("c", "", serve(t, named("xds")))
	w.routes("%s", to("c"))
	other := serve(t, named("other"))
	h, err := httpxds.NewHosts(httpxds.WithEnv(w.env), httpxds.WithFallback(http.DefaultTransport),
		httpxds.WithTargets(func(u *url.URL) (string, bool) { return "xds:///" + u.Host, u.Host != other }))
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"svc", "svc", other} {
		want := map[string]string{"svc": "xds HTTP/1.1", other: "other HTTP/1.1"}[host]
		if body, err := get(t, h, "http://"+host+"/"); body != want {
			t.Errorf("%s: %q, %v; want %q", host, body, err, want)
		}
	}
	h.CloseIdleConnections()
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	var e *httpxds.Error
	if _, err := get(t, h, "http://svc/"); !errors.As(err, &e) || e.Reason != httpxds.NoRoute {
		t.Errorf("a request after Close: %v", err)
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}
