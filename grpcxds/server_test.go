package grpcxds

import (
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/internal/controlplane"
)

const allHosts = `virtual_hosts { domains: "*" ` + anyRoute + ` }`

func TestServerServesWhatTheListenerSays(t *testing.T) {
	w := newWorld(t)
	s := w.serve()
	if !s.touch() {
		t.Error("a connection got bytes before there was a configuration")
	}
	w.publishListener(s.listener(rds("routes")))
	w.publishRoutes("routes", allHosts)
	s.awaitServing()
	if st := s.call(s.dial()); st.Code() != codes.OK {
		t.Errorf("%v; want OK", st)
	}
}

func TestNewServerNeedsABootstrapWithATemplate(t *testing.T) {
	server := `"xds_servers": [{"server_uri": "127.0.0.1:1", "channel_creds": [{"type": "insecure"}]}]`
	for name, c := range map[string]struct {
		content string
		want    error
		text    string
	}{
		"none":              {"", bootstrap.ErrNotConfigured, ""},
		"invalid":           {"{", nil, "bootstrap"},
		"no template":       {"{" + server + "}", bootstrap.ErrNoServerTemplate, ""},
		"unknown authority": {"{" + server + `, "server_listener_resource_name_template": "xdstp://x/envoy.config.listener.v3.Listener/%s"}`, bootstrap.ErrUnknownAuthority, ""},
		"another type": {
			"{" + server + `, "authorities": {"x": {}}, "server_listener_resource_name_template": "xdstp://x/envoy.config.route.v3.RouteConfiguration/%s"}`,
			nil, "must be envoy.config.listener.v3.Listener",
		},
		"no type": {"{" + server + `, "authorities": {"x": {}}, "server_listener_resource_name_template": "xdstp://x/%s"}`, nil, "must be envoy.config.listener.v3.Listener"},
		"no servers": {
			`{"server_listener_resource_name_template": "%s", "authorities": {"x": {"xds_servers": [{"server_uri": "127.0.0.1:1", "channel_creds": [{"type": "insecure"}]}]}}}`,
			nil, "xds_servers",
		},
	} {
		t.Setenv(bootstrap.EnvFile, "")
		t.Setenv(bootstrap.EnvContent, c.content)
		s, err := NewServer()
		if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v; want %v %q", name, err, c.want, c.text)
		}
		if s != nil {
			t.Errorf("%s: there is a server", name)
		}
	}
}

// TestServerOfTheEnvironment expects a server without an Env to use the bootstrap that the
// environment variables name.
func TestServerOfTheEnvironment(t *testing.T) {
	w := newWorld(t)
	t.Setenv(bootstrap.EnvFile, "")
	t.Setenv(bootstrap.EnvContent, `{"server_listener_resource_name_template": "server/%s",
		"xds_servers": [{"server_uri": "`+w.plane.Addr()+`", "channel_creds": [{"type": "insecure"}]}]}`)
	s := w.serveWith(func(c *ServerConfig) { c.Env = nil })
	w.publishListener(s.listener(inline(anyRoute)))
	s.awaitServing()
	if st := s.call(s.dial()); st.Code() != codes.OK {
		t.Errorf("%v; want OK", st)
	}
}

func TestServeRefusesAnAddressThatIsNotTCP(t *testing.T) {
	w := newWorld(t)
	s, err := ServerConfig{Env: w.env}.NewServer()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	lis, err := (&net.ListenConfig{}).Listen(w.ctx, "unix", filepath.Join(t.TempDir(), "socket"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(lis); err == nil || !strings.Contains(err.Error(), "TCPAddr") {
		t.Errorf("Serve: %v; want an error with the form of an address", err)
	}
	if _, err := lis.Accept(); err == nil {
		t.Error("the listener was left open")
	}
}

func TestServicesAreOnEveryConnection(t *testing.T) {
	w := newWorld(t)
	s := w.serve()
	if info := s.GetServiceInfo(); len(info) == 0 || len(info["grpc.testing.TestService"].Methods) == 0 {
		t.Errorf("GetServiceInfo: %v", info)
	}
	w.publishListener(s.listener(inline(anyRoute)))
	s.awaitServing()
	cc := s.channel()
	var out testpb.Empty
	err := cc.Invoke(s.ctx, "/no.Such/Method", &testpb.Empty{}, &out)
	if err == nil || !strings.Contains(err.Error(), "unknown method /no.Such/Method") || grpc.Code(err) != codes.Unimplemented { //nolint:staticcheck // short
		t.Errorf("an unknown method: %v", err)
	}
}

// One server listens on several addresses. Each has its own Listener.
func TestServerOfSeveralAddresses(t *testing.T) {
	w := newWorld(t)
	s := w.serve()
	lis, err := (&net.ListenConfig{}).Listen(w.ctx, "tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(lis) }()
	w.publishListener(s.listener(inline(anyRoute)))
	s.awaitServing()
	other := &site{world: w, Server: s.Server, addr: lis.Addr().String()}
	if !other.touch() {
		t.Error("the other address serves too")
	}
	if st := s.call(s.dial()); st.Code() != codes.OK {
		t.Errorf("%v; want OK", st)
	}
	text := s.listener(inline(anyRoute))
	text = strings.ReplaceAll(strings.Replace(text, s.name, "server/"+other.addr, 1), `"127.0.0.1" port_value: `+portOf(s.addr), `"127.0.0.2" port_value: `+portOf(other.addr))
	w.publishListener(text)
	s.awaitServing()
	if st := s.call(other.dial()); st.Code() != codes.OK {
		t.Errorf("%v; want OK", st)
	}
	s.GracefulStop()
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if err := s.Serve(lis); !errors.Is(err, grpc.ErrServerStopped) {
		t.Errorf("Serve after GracefulStop: %v; want %v", err, grpc.ErrServerStopped)
	}
}

func portOf(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}

// In new-style names, the replacement of %s is percent-encoded, and the authority of the name
// selects the control plane (A47).
func TestServerNamesOfAuthorities(t *testing.T) {
	plane, err := controlplane.Start([]string{listenerMessage, routeMessage})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plane.Stop)
	w := newWorldOf(t, plane, `{"server_listener_resource_name_template": "xdstp://east.example/envoy.config.listener.v3.Listener/server/%s",
		"xds_servers": [{"server_uri": "127.0.0.1:1", "channel_creds": [{"type": "insecure"}]}],
		"authorities": {"east.example": {"xds_servers": [{"server_uri": "`+plane.Addr()+`", "channel_creds": [{"type": "insecure"}]}]}}}`)
	lis, err := (&net.ListenConfig{}).Listen(w.ctx, "tcp", "[::]:0")
	if err != nil {
		t.Fatal(err)
	}
	s := w.serveOn(lis, nil)
	s.name = "xdstp://east.example/envoy.config.listener.v3.Listener/server/%5B::%5D:" + portOf(s.addr)
	w.publishListener(strings.Replace(s.listener(inline(anyRoute)), "127.0.0.1", "::", 1))
	s.awaitServing()
	s.addr = "127.0.0.1:" + portOf(s.addr)
	if st := s.call(s.dial()); st.Code() != codes.OK {
		t.Errorf("%v; want OK", st)
	}
}
