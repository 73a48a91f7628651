package httpxds_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/httpxds"
)

// proxyTo returns a reverse proxy over a RoundTripper.
func proxyTo(rt http.RoundTripper) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{Transport: rt, Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = "http", "svc"
	}}
}

// summarize upgrades a request, reads until the client ends its direction, and then sends what it read.
func summarize(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") == "" {
		named("plain")(w, r)
		return
	}
	c, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusHTTPVersionNotSupported)
		return
	}
	defer c.Close()
	_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\n")
	_ = rw.Flush()
	all, err := io.ReadAll(rw)
	_, _ = fmt.Fprintf(c, "%s %v", all, err)
}

// farewell upgrades a request, ends its own direction, and then reads the other one.
func farewell(got chan<- string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			http.Error(w, err.Error(), http.StatusHTTPVersionNotSupported)
			return
		}
		defer c.Close()
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\nbye")
		_ = rw.Flush()
		if half, ok := c.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
			got <- fmt.Sprintf("no CloseWrite of a %T", c)
			return
		}
		all, err := io.ReadAll(rw)
		got <- fmt.Sprint(string(all), err)
	}
}

// upgrade asks the server at an address for an upgrade. It returns the connection and its reader.
func upgrade(t *testing.T, addr string) (*net.TCPConn, *bufio.Reader) {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
	check(t, err)
	t.Cleanup(func() { _ = c.Close() })
	check(t, c.SetDeadline(time.Now().Add(30*time.Second)))
	_, err = fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: svc\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\n")
	check(t, err)
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, nil)
	check(t, err)
	if resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("status %s; want an upgraded connection", resp.Status)
	}
	return c.(*net.TCPConn), r
}

// A path is a way to an endpoint. It returns the address to send requests to.
type path func(t *testing.T, h http.HandlerFunc) string

// paths are the ways that upgraded connections take.
var paths = map[string]path{
	"a Transport":              throughTransport(),
	"a Transport with filters": throughTransport(filter("header_mutation.v3.HeaderMutation", adding("x"))),
	"a Server":                 throughServer(""),
	"a Server with filters":    throughServer(filter("header_mutation.v3.HeaderMutation", adding("x"))),
	"a forwarding Server": func(t *testing.T, h http.HandlerFunc) string {
		s := newSite(t, http.NotFoundHandler(), "", nil, httpxds.WithForwarding(h))
		s.listen(chain("one", hosts(`routes { match { prefix: "/" } route { cluster: "c" } }`)))
		s.serving("")
		return s.addr
	},
}

// throughTransport is the way through a reverse proxy.
func throughTransport(filters ...string) path {
	return func(t *testing.T, h http.HandlerFunc) string {
		w := newWorld(t)
		w.cluster("c", "", serve(t, h))
		w.filtered(strings.Join(filters, " "), `virtual_hosts { name: "h" domains: "svc" %s }`, to("c"))
		proxy := httptest.NewServer(proxyTo(w.transport()))
		t.Cleanup(proxy.Close)
		return proxy.Listener.Addr().String()
	}
}

// throughServer is the way to the handler of a server.
func throughServer(filters string) path {
	return func(t *testing.T, h http.HandlerFunc) string {
		s := newSite(t, h, "", nil)
		s.listen(chain("one", hosts(anyRoute)+filters))
		s.serving("")
		return s.addr
	}
}

// TestHalfClose expects both sides of an upgraded connection to be able to end their direction alone.
func TestHalfClose(t *testing.T) {
	for name, to := range paths {
		t.Run(name, func(t *testing.T) {
			c, r := upgrade(t, to(t, summarize))
			_, err := io.WriteString(c, "hello")
			check(t, err)
			check(t, c.CloseWrite())
			if all, err := io.ReadAll(r); string(all) != "hello <nil>" || err != nil {
				t.Errorf("%q, %v; want what the endpoint read, after the end of the client's direction", all, err)
			}
			got := make(chan string, 1)
			c, r = upgrade(t, to(t, farewell(got)))
			if all, err := io.ReadAll(r); string(all) != "bye" || err != nil {
				t.Errorf("%q, %v; want the last bytes of the endpoint", all, err)
			}
			_, err = io.WriteString(c, "late")
			check(t, err)
			check(t, c.CloseWrite())
			if s := <-got; s != "late<nil>" {
				t.Errorf("after the end of its direction, the endpoint read %s", s)
			}
		})
	}
}

// TestHalfCloseOverTLS expects the connections of servers with TLS to end their direction, too.
func TestHalfCloseOverTLS(t *testing.T) {
	w, addr, upstream := tlsWorld(t)
	w.cluster("c", upstream("server.example"), addr)
	w.routes("%s", to("c"))
	proxy := httptest.NewServer(proxyTo(w.transport()))
	t.Cleanup(proxy.Close)
	c, r := upgrade(t, proxy.Listener.Addr().String())
	_, err := io.WriteString(c, "hello")
	check(t, err)
	check(t, c.CloseWrite())
	if all, err := io.ReadAll(r); string(all) != "hello <nil>" || err != nil {
		t.Errorf("%q, %v; want what the endpoint read, after the end of the client's direction", all, err)
	}
}

// TestUpgradeOverTLS expects an upgrade to use HTTP/1.1 although the endpoint also speaks HTTP/2, beside requests by HTTP/2.
func TestUpgradeOverTLS(t *testing.T) {
	w, addr, upstream := tlsWorld(t)
	w.cluster("c", upstream("server.example")+` circuit_breakers { thresholds { max_connections { value: 2 } } }`, addr)
	w.routes("%s", to("c"))
	rt := w.transport()
	proxy := httptest.NewServer(proxyTo(rt))
	t.Cleanup(proxy.Close)
	for range 3 {
		for range 2 {
			if body, err := get(t, rt, "http://svc/"); body != "tls HTTP/2.0" {
				t.Errorf("%q, %v; want HTTP/2", body, err)
			}
		}
		c, r := upgrade(t, proxy.Listener.Addr().String())
		check(t, c.CloseWrite())
		if all, err := io.ReadAll(r); string(all) != " <nil>" || err != nil {
			t.Errorf("%q, %v; want the bytes of the endpoint", all, err)
		}
		until(t, func() (bool, string) {
			return w.limit("connections").Used == 1, "the upgraded connection is still counted"
		})
	}
	body, err := get(t, rt, "http://svc/", func(r *http.Request) { // the endpoint declines
		r.Header.Set("Connection", "Upgrade")
		r.Header.Set("Upgrade", "none")
	})
	if body != "tls HTTP/1.1" {
		t.Errorf("%q, %v; want the response of an endpoint that declines", body, err)
	}
	until(t, func() (bool, string) {
		return w.limit("connections").Used == 1, "the connection of the declined upgrade stays open"
	})
}

// TestUpgradeWithoutHTTP1 expects an error for an upgrade of a cluster that has only HTTP/2. No endpoint is at fault.
func TestUpgradeWithoutHTTP1(t *testing.T) {
	w := newWorld(t)
	w.cluster("c", `outlier_detection { interval { seconds: 3600 } consecutive_5xx { value: 1 } max_ejection_percent { value: 100 } }`, serve(t, summarize))
	w.routes("%s", to("c"))
	rt := w.transport(httpxds.WithProtocol(httpxds.HTTP2))
	for range 3 {
		_, err := get(t, rt, "http://svc/", func(r *http.Request) { r.Header.Set("Upgrade", "raw") })
		if err == nil || !strings.Contains(err.Error(), "HTTP/2, which cannot be upgraded") {
			t.Errorf("%v; want the reason", err)
		}
	}
	if body, err := get(t, rt, "http://svc/"); body != "plain HTTP/2.0" || w.ejected() != 0 {
		t.Errorf("%q, %v with %d endpoints ejected; want none", body, err, w.ejected())
	}
}

// TestMaxConnsOfUpgrades expects the limit of connections to hold for those of upgrades, beside those of HTTP/2.
func TestMaxConnsOfUpgrades(t *testing.T) {
	g := newGate()
	w, addr, upstream := tlsWorldOf(t, func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 1 {
			g.ServeHTTP(w, r)
		}
	})
	w.cluster("c", upstream("server.example")+` circuit_breakers { thresholds { max_connections { value: 9 } max_pending_requests { value: 9 } } }`, addr)
	w.routes("%s", to("c"))
	d := new(dialed)
	rt := w.transport(httpxds.WithBase(&http.Transport{MaxConnsPerHost: 1, DialContext: d.dial}))
	if _, err := get(t, rt, "http://svc/"); err != nil {
		t.Fatal(err)
	}
	declined := make(chan error, 2)
	for range cap(declined) {
		go func() {
			_, err := get(t, rt, "http://svc/", header("Connection", "Upgrade"), header("Upgrade", "none"))
			declined <- err
		}()
	}
	open := sync.OnceFunc(func() { close(g.open) })
	t.Cleanup(open) // before the server closes
	<-g.entered
	until(t, func() (bool, string) {
		return w.limit("pending requests").Used == 1, "the second upgrade does not wait"
	})
	if _, err := get(t, rt, "http://svc/"); err != nil {
		t.Errorf("a request of HTTP/2 beside it: %v", err)
	}
	open()
	for range cap(declined) {
		check(t, <-declined)
	}
	if most := d.most.Load(); most != 2 {
		t.Errorf("%d connections at once; want one for each protocol", most)
	}
}

// TestEndpointWithOnlyAnUpgradedConnection expects no request to go to an endpoint that keeps an upgraded connection, but accepts no
// other one.
func TestEndpointWithOnlyAnUpgradedConnection(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	check(t, err)
	leaving := &http.Server{Handler: http.HandlerFunc(summarize), ReadHeaderTimeout: time.Minute}
	go func() { _ = leaving.Serve(l) }()
	t.Cleanup(func() { _ = leaving.Close() })
	w := newWorld(t)
	w.cluster("c", "", l.Addr().String())
	w.routes("%s", to("c"))
	rt := w.transport()
	proxy := httptest.NewServer(proxyTo(rt))
	t.Cleanup(proxy.Close)
	c, r := upgrade(t, proxy.Listener.Addr().String())
	w.endpoints("c", l.Addr().String(), serve(t, named("other")))
	check(t, leaving.Close()) // the upgraded connection stays
	row := 0
	until(t, func() (bool, string) {
		body, err := get(t, rt, "http://svc/")
		row++
		if body != "other HTTP/1.1" {
			row = 0
		}
		return row == 20, fmt.Sprintf("requests fail while an endpoint has only an upgraded connection: %q, %v", body, err)
	})
	_, err = io.WriteString(c, "hello")
	check(t, err)
	check(t, c.CloseWrite())
	if all, err := io.ReadAll(r); string(all) != "hello <nil>" || err != nil {
		t.Errorf("%q, %v; want that the upgraded connection works", all, err)
	}
}
