// Command demo tells a story: a reverse proxy that two control planes configure. It stands in front of plain handlers and of
// a handler of Connect. east.example configures the server: who may send which requests, and how many. west.example
// configures the proxy's client: splits, rewrites, retries and priorities. Each line with a check mark was verified. The exit
// code is 0 only if all was seen.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"time"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/examples/demos/story"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/httpxds"
)

// timeout is the limit for the whole run.
const timeout = 50 * time.Second

func main() {
	story.Main("web", timeout, run)
}

// A stage has the state of the chapters.
type stage struct {
	story.Teller
	east, west *story.ControlPlane // one for each authority
	stable     *backend            // the first priority
	standby    *backend            // the second priority
	canary     *backend            // of the split
	greeter    *backend            // speaks Connect
	env        *xdsforge.Env
	transport  *httpxds.Transport
	server     *httpxds.Server
	addr       string
	listener   string // the name of the server's Listener
	modes      chan error
	served     chan error
	http       *http.Transport // of the visitors
	closing    []func()
}

func run(ctx context.Context, out io.Writer) (err error) {
	began := time.Now()
	s := &stage{Teller: story.New(out), modes: make(chan error, 100), served: make(chan error, 1), http: &http.Transport{MaxIdleConnsPerHost: 8}}
	s.closing = append(s.closing, s.http.CloseIdleConnections)
	defer s.close()
	s.Title("xdsforge web: a reverse proxy for HTTP and Connect, configured by two control planes")
	for _, plane := range []**story.ControlPlane{&s.east, &s.west} {
		p, err := story.NewControlPlane() //nolint:contextcheck // it ends with Stop
		if err != nil {
			return err
		}
		s.closing = append(s.closing, p.Stop)
		*plane = p
	}
	for name, b := range map[string]**backend{"stable": &s.stable, "standby": &s.standby, "canary": &s.canary, "greeter": &s.greeter} {
		if *b, err = startBackend(ctx, name); err != nil {
			return err
		}
		s.closing = append(s.closing, (*b).stop)
	}
	if err := s.Play(ctx, s.start, s.split, s.rewrite, s.connect, s.failover, s.rules, s.limits, s.drain, s.darkness, s.stop); err != nil {
		return err
	}
	s.Title(fmt.Sprintf("Everything was seen, in %.1f s.", time.Since(began).Seconds()))
	return nil
}

// start starts the proxy. A program with a bootstrap in its environment needs no Env.
func (s *stage) start(ctx context.Context) error {
	s.Chapter("A proxy without a configuration")
	const channel = `"channel_creds": [{"type": "insecure"}]`
	config, err := bootstrap.Parse(fmt.Appendf(nil, `{
  "node": {"id": "web-1"},
  "server_listener_resource_name_template": "xdstp://east.example/envoy.config.listener.v3.Listener/server/%%s",
  "authorities": {
    "east.example": {"xds_servers": [{"server_uri": %q, %s}]},
    "west.example": {"xds_servers": [{"server_uri": %q, %s}]}
  }
}`, s.east.Addr(), channel, s.west.Addr(), channel))
	if err != nil {
		return err
	}
	if s.env, err = xdsforge.NewEnv(xdsforge.WithBootstrap(config), xdsforge.WithTypes(httpxds.Register),
		xdsforge.WithLogger(slog.New(slog.DiscardHandler))); err != nil { // the story prints the modes
		return err
	}
	s.closing = append(s.closing, func() { _ = s.env.Close() })
	if err := s.proxy(); err != nil { //nolint:contextcheck // the parts of the proxy end with close
		return err
	}
	lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.addr = lis.Addr().String()
	go func() { s.served <- s.server.Serve(lis) }() //nolint:contextcheck // it ends with Shutdown
	name, err := config.ServerListenerName(s.addr)
	if err != nil {
		return err
	}
	s.listener = name.String()
	s.Line("it listens on %s, and subscribes to", s.addr)
	s.Line("%s", s.listener)
	if _, err := s.get(ctx, "/"); err == nil {
		return errors.New("a server without a Listener has responded")
	}
	s.Seen("the server closes connections until it has a Listener")
	if err := errors.Join(s.setClusters(), s.setRoutes(s.splitRoutes()), s.setListener("one")); err != nil {
		return err
	}
	if err := story.AwaitServing(ctx, s.modes); err != nil {
		return err
	}
	body, err := s.get(ctx, "/hello")
	if err != nil {
		return err
	}
	s.Quote("GET /hello:", body)
	s.Seen("with the Listener of east.example and the routes and clusters of west.example, the proxy serves")
	return nil
}

// proxy creates the reverse proxy: a Transport of west.example behind a server of east.example.
func (s *stage) proxy() (err error) {
	s.transport, err = httpxds.NewTransport("xds://west.example/shop", httpxds.WithEnv(s.env), httpxds.WithGatewayResponses())
	if err != nil {
		return err
	}
	s.closing = append(s.closing, func() { _ = s.transport.Close() })
	forward := &httputil.ReverseProxy{Transport: s.transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = "http", "shop"
		r.SetXForwarded()
	}}
	s.server, err = httpxds.NewServer(http.NotFoundHandler(), httpxds.WithEnv(s.env), httpxds.WithForwarding(forward),
		httpxds.OnMode(func(_ net.Addr, err error) { s.modes <- err }))
	if err != nil {
		return err
	}
	s.closing = append(s.closing, func() { _ = s.server.Close() })
	return nil
}

// close ends the rest if the run fails, in the reverse order.
func (s *stage) close() {
	for _, end := range slices.Backward(s.closing) {
		end()
	}
}
