package httpxds_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"                     // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3" // for prototext

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/httpxds"
	"github.com/xdsforge/xdsforge/internal/controlplane"
	"github.com/xdsforge/xdsforge/internal/environment"
)

const (
	managerAny = `[type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager]`
	routerEnd  = ` http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } }`
	anyRoute   = `routes { match { prefix: "/" } non_forwarding_action {} }`
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A site is a server that listens on one address, with its control plane.
type site struct {
	testing.TB
	*httpxds.Server
	ctx    context.Context
	plane  *controlplane.Server
	env    *xdsforge.Env
	addr   string
	port   int
	name   string     // of the Listener
	modes  chan error // as OnMode reports them
	served chan error
}

// newSite runs a server until the test ends. Extra is added to the bootstrap. An invalid Listener ends the one before it.
func newSite(t testing.TB, h http.Handler, extra string, register func(xdsforge.Registrar), opts ...httpxds.ServerOption) *site {
	t.Helper()
	return openSite(t, h, extra, register, true, opts...)
}

// openSite is newSite. If failOnDataErrors is not set, an invalid Listener has no effect after a valid one.
func openSite(t testing.TB, h http.Handler, extra string, register func(xdsforge.Registrar), failOnDataErrors bool, opts ...httpxds.ServerOption) *site {
	t.Helper()
	plane, err := controlplane.Start([]string{"envoy.config.listener.v3.Listener", "envoy.config.route.v3.RouteConfiguration", "envoy.config.core.v3.TypedExtensionConfig"})
	check(t, err)
	t.Cleanup(plane.Stop)
	config, err := bootstrap.Parse(fmt.Appendf(nil, `{"node": {"id": "web-1"}, "server_listener_resource_name_template": "server/%%s", %s
		"xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}]}`, extra, plane.Addr()))
	check(t, err)
	types := []func(xdsforge.Registrar){httpxds.Register}
	if register != nil {
		types = append(types, register)
	}
	env, err := xdsforge.NewEnv(xdsforge.WithBootstrap(config), xdsforge.WithTypes(types...), xdsforge.WithLogger(slog.New(slog.DiscardHandler)),
		environment.WithClient(func(o *client.Options) {
			o.Backoff.Base, o.Backoff.Max, o.FailOnDataErrors = 20*time.Millisecond, 100*time.Millisecond, failOnDataErrors
		}))
	check(t, err)
	t.Cleanup(func() { _ = env.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	check(t, err)
	s := &site{
		TB: t, ctx: ctx, plane: plane, env: env, addr: lis.Addr().String(), port: lis.Addr().(*net.TCPAddr).Port,
		modes: make(chan error, 1000), served: make(chan error, 1),
	}
	s.name = "server/" + s.addr
	s.Server, err = httpxds.NewServer(h, append([]httpxds.ServerOption{
		httpxds.WithEnv(env), httpxds.OnMode(func(_ net.Addr, err error) { s.modes <- err }),
	}, opts...)...)
	check(t, err)
	go func() { s.served <- s.Serve(lis) }()
	t.Cleanup(func() {
		check(t, s.Close())
		if err := <-s.served; err != nil && !errors.Is(err, http.ErrServerClosed) { // Close can be before Serve
			t.Errorf("Serve: %v", err)
		}
	})
	return s
}

// chain returns a filter chain with the contents of its HttpConnectionManager.
func chain(name, manager string) string {
	return fmt.Sprintf(`filter_chains { name: %q filters { name: "hcm" typed_config { %s { %s %s } } } }`, name, managerAny, manager, routerEnd)
}

// hosts returns the routes of a manager, with the contents of one virtual host for all hosts.
func hosts(routes string) string {
	return `route_config { name: "r" virtual_hosts { name: "v" domains: "*" ` + routes + ` } }`
}

// listen publishes a Listener with filter chains.
func (s *site) listen(chains string) {
	s.Helper()
	check(s, s.plane.SetText(s.name, new(listenerv3.Listener), `name: %q address { socket_address { address: "127.0.0.1" port_value: %d } } %s`, s.name, s.port, chains))
}

// routes publishes the RouteConfiguration "r".
func (s *site) routes(hosts string) {
	s.Helper()
	check(s, s.plane.SetText("r", new(routev3.RouteConfiguration), `name: "r" %s`, hosts))
}

// serving waits until the server reports that it serves, or that it does not, with a part of the reason.
func (s *site) serving(reason string) {
	s.Helper()
	select {
	case err := <-s.modes:
		if (err == nil) != (reason == "") || err != nil && !strings.Contains(err.Error(), reason) {
			s.Fatalf("the server reports %v, want %q", err, reason)
		}
	case <-s.ctx.Done():
		s.Fatal("the server reported nothing")
	}
}

// A protocol is a version of HTTP without TLS.
type protocol string

const (
	http1 protocol = "HTTP/1.1"
	h2c   protocol = "h2c"
)

// client returns a client of its own connections.
func (p protocol) client(t testing.TB) *http.Client {
	tr := &http.Transport{Protocols: new(http.Protocols)}
	tr.Protocols.SetHTTP1(p == http1)
	tr.Protocols.SetUnencryptedHTTP2(p == h2c)
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// answer is the response to a request.
type answer struct {
	code   int
	header http.Header
	body   string
}

// do sends a request and reads the response.
func (s *site) do(c *http.Client, method, path string, change ...func(*http.Request)) (answer, error) {
	var body io.Reader
	if method == http.MethodPost {
		body = strings.NewReader("hello")
	}
	r, err := http.NewRequestWithContext(s.ctx, method, "http://"+s.addr+path, body)
	if err != nil {
		return answer{}, err
	}
	for _, f := range change {
		f(r)
	}
	res, err := c.Do(r)
	if err != nil {
		return answer{}, err
	}
	text, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, string(text)}, errors.Join(err, res.Body.Close())
}

// get returns the response to a GET request on a connection of its own, which ends with the response.
func (s *site) get(path string, change ...func(*http.Request)) answer {
	s.Helper()
	once := func(r *http.Request) { r.Close = true } // an idle connection would keep its generation
	a, err := s.do(http1.client(s), http.MethodGet, path, append(change, once)...)
	check(s, err)
	return a
}

// until repeats a request until a condition holds.
func (s *site) until(what string, holds func() bool) {
	s.Helper()
	for !holds() {
		if s.ctx.Err() != nil {
			s.Fatalf("timed out; want that %s", what)
		}
	}
}

// echo responds with the path and the body of the request.
func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	_, _ = fmt.Fprintf(w, "%s %s", r.URL.Path, body) // the client reports errors
}
