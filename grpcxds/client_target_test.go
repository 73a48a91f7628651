package grpcxds_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3" // for prototext
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/grpcxds"
)

// The table has every form of a target, and every worked example of gRFC A47, with the name of the
// Listener and the authority that selects the virtual host.
func TestTargets(t *testing.T) {
	const (
		plain  = ``
		named  = `"client_default_listener_resource_name_template": "xdstp://xds.authority.com/envoy.config.listener.v3.Listener/%s", "authorities": {"xds.authority.com": {}},`
		listen = `xdstp://xds.authority.com/envoy.config.listener.v3.Listener/`
	)
	several := func(other string) string {
		return fmt.Sprintf(`"client_default_listener_resource_name_template": "%[1]sgrpc/client/%%s?project_id=1234",
			"authorities": {"xds.authority.com": {"client_listener_resource_name_template": "%[1]sgrpc/client/%%s?project_id=1234"}, "xds.other.com": {"xds_servers": [%[2]s]}},`, listen, other)
	}
	for _, test := range []struct {
		bootstrap, target, listener, authority string
		other                                  bool // the listener is xds.other.com's
	}{
		{plain, "xds:server.example.com", "server.example.com", "server.example.com", false},
		{plain, "xds:/server.example.com", "server.example.com", "server.example.com", false},
		{plain, "xds:///server.example.com", "server.example.com", "server.example.com", false},
		{plain, "XDS:///server.example.com?query#fragment", "server.example.com", "server.example.com", false},
		{plain, "xds:///a/b c", "a/b c", "a%2Fb%20c", false},
		{plain, "xds:a%2Fb", "a/b", "a%2Fb", false},
		{plain, "xds:///server.example.com:8080", "server.example.com:8080", "server.example.com:8080", false},
		{plain, "xds:///:8080", ":8080", ":8080", false},
		{named, "xds:server.example.com", listen + "server.example.com", "server.example.com", false},
		{named, "xds://xds.authority.com/server.example.com", listen + "server.example.com", "server.example.com", false},
		{named, "xds://xds.authority.com/a/b?c", listen + "a/b", "a%2Fb", false},
		{named, "xds:///%5B::1%5D:80", listen + "%5B::1%5D:80", "[::1]:80", false},
		{"several", "xds:server.example.com", listen + "grpc/client/server.example.com?project_id=1234", "server.example.com", false},
		{"several", "xds://xds.authority.com/server.example.com", listen + "grpc/client/server.example.com?project_id=1234", "server.example.com", false},
		{"several", "xds://xds.other.com/server.other.com", "xdstp://xds.other.com/envoy.config.listener.v3.Listener/server.other.com", "server.other.com", true},
	} {
		t.Run(test.target, func(t *testing.T) {
			top, other, b := newPlane(t), newPlane(t), newBackend(t, "b")
			text := test.bootstrap
			if text == "several" {
				text = several(other.entry())
			}
			env := newEnv(t, fmt.Sprintf(`{%s "node": {"id": "n"}, "xds_servers": [%s]}`, text, top.entry()))
			from := top
			if test.other {
				from = other
			}
			top.cluster("c", "e", b)
			from.listener(test.listener, fmt.Sprintf(`route_config { %s }`, hosts(test.authority, to("c"))))
			cc := newChannel(t, env, test.target)
			if got, err := call(soon(t), cc, "/p.S/M"); got != "b" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

func TestInvalidTargets(t *testing.T) {
	p := newPlane(t)
	config := fmt.Sprintf(`{"xds_servers": [%s]}`, p.entry())
	env := newEnv(t, config)
	insecurely := grpc.WithTransportCredentials(insecure.NewCredentials())
	for _, target := range []string{"xds://nobody/x", "xds:///", "XDS:", "xds:///%zz"} {
		if _, err := (grpcxds.Dialer{Env: env}).NewClient(target, insecurely); err == nil || !strings.Contains(err.Error(), "grpcxds: target") {
			t.Errorf("NewClient(%q): %v", target, err)
		}
	}
	_, err := grpcxds.Dialer{Env: env}.NewClient("xds://nobody/x", insecurely)
	if !errors.Is(err, bootstrap.ErrUnknownAuthority) {
		t.Errorf("an unknown authority: %v", err)
	}
	if _, err := (grpcxds.Dialer{Env: env}).NewClient("xds:///x"); err == nil {
		t.Error("gRPC's own errors are passed over")
	}
	deaf, err := grpcxds.Dialer{Env: env}.NewClient("xds:///x", insecurely, grpc.WithDisableServiceConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	if _, err := call(soon(t), deaf, "/p.S/M"); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "WithDisableServiceConfig") {
		t.Errorf("a channel that takes no service config: %v", err)
	}
	// With DialOptions, the first call returns the error, without a wait.
	cc, err := grpc.NewClient("xds://nobody/x", append(grpcxds.Dialer{Env: env}.DialOptions(), insecurely)...)
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	for range 2 {
		if _, err := call(soon(t), cc, "/p.S/M", grpc.WaitForReady(true)); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "nobody") {
			t.Errorf("a call: %v", err)
		}
	}
}

// NewClient returns an error if the bootstrap has no control plane for a name, also if the default
// template creates the name.
func TestTargetsWithoutServers(t *testing.T) {
	const other = `"authorities": {"x": {"xds_servers": [{"server_uri": "u", "channel_creds": [{"type": "insecure"}]}]}}`
	insecurely := grpc.WithTransportCredentials(insecure.NewCredentials())
	for _, c := range []struct {
		config, target string
		want           error
	}{
		{`{` + other + `}`, "xds:///svc", bootstrap.ErrNoServers},
		{`{"client_default_listener_resource_name_template": "xdstp://y/envoy.config.listener.v3.Listener/%s", ` + other + `}`, "xds:///svc", bootstrap.ErrUnknownAuthority},
		{`{` + other + `}`, "xds://x/svc", nil},
	} {
		cc, err := grpcxds.Dialer{Env: newEnv(t, c.config)}.NewClient(c.target, insecurely)
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("NewClient(%q) with %s: %v; want %v", c.target, c.config, err, c.want)
		}
		if err == nil {
			_ = cc.Close()
		}
	}
}

// If a template creates names of another type, NewClient returns an error for targets that use it.
// With DialOptions, the first call fails.
func TestTemplatesOfAnotherType(t *testing.T) {
	p := newPlane(t)
	const other = "xdstp://x/envoy.config.route.v3.RouteConfiguration/%s"
	config := func(byDefault, ofAuthority string) string {
		return fmt.Sprintf(`{"client_default_listener_resource_name_template": %q, "xds_servers": [%s],
			"authorities": {"x": {"client_listener_resource_name_template": %q}}}`, byDefault, p.entry(), ofAuthority)
	}
	const good = "xdstp://x/envoy.config.listener.v3.Listener/%s"
	insecurely := grpc.WithTransportCredentials(insecure.NewCredentials())
	for _, c := range []struct {
		byDefault, ofAuthority, target string
		valid                          bool
	}{
		{other, good, "xds:///svc", false},
		{other, good, "xds://x/svc", true},
		{good, other, "xds:///svc", true},
		{good, other, "xds://x/svc", false},
	} {
		env := newEnv(t, config(c.byDefault, c.ofAuthority))
		cc, err := grpcxds.Dialer{Env: env}.NewClient(c.target, insecurely)
		if (err == nil) != c.valid {
			t.Errorf("%+v: NewClient: %v", c, err)
		}
		if err == nil {
			_ = cc.Close()
			continue
		}
		want := []string{c.target, "xdstp://x/envoy.config.route.v3.RouteConfiguration/svc", "must be envoy.config.listener.v3.Listener"}
		if cc, err = grpc.NewClient(c.target, append(grpcxds.Dialer{Env: env}.DialOptions(), insecurely)...); err != nil {
			t.Fatal(err)
		}
		_, failed := call(soon(t), cc, "/p.S/M")
		_ = cc.Close()
		for _, part := range want {
			if !strings.Contains(fmt.Sprint(failed), part) {
				t.Errorf("%+v: the first call: %v; want %q in it", c, failed, part)
			}
		}
	}
}

// Without an Env, NewClient reads the environment variables when it creates the channel.
func TestDefaultEnv(t *testing.T) {
	t.Setenv(bootstrap.EnvFile, "")
	t.Setenv(bootstrap.EnvContent, "")
	insecurely := grpc.WithTransportCredentials(insecure.NewCredentials())
	if _, err := grpcxds.NewClient("xds:///svc", insecurely); !errors.Is(err, bootstrap.ErrNotConfigured) {
		t.Errorf("without a bootstrap: %v", err)
	}
	late, err := grpc.NewClient("xds:///svc", append(grpcxds.Dialer{}.DialOptions(), insecurely)...)
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	if _, err := call(soon(t), late, "/p.S/M"); err == nil || !strings.Contains(err.Error(), bootstrap.EnvFile) {
		t.Errorf("a call without a bootstrap: %v", err)
	}
	p, b := newPlane(t), newBackend(t, "b")
	p.listener("svc", fmt.Sprintf(`route_config { %s }`, hosts("svc", to("c"))))
	p.cluster("c", "c", b)
	t.Setenv(bootstrap.EnvContent, fmt.Sprintf(`{"xds_servers": [%s]}`, p.entry()))
	cc, err := grpcxds.NewClient("xds:///svc", insecurely, grpc.WithIdleTimeout(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	t.Setenv(bootstrap.EnvContent, "")
	for range 2 { // another Env after idleness, for the same bootstrap
		if got, err := call(soon(t), cc, "/p.S/M"); got != "b" {
			t.Errorf("%q, %v", got, err)
		}
		idle(t, cc)
	}
}

func TestOneChannelForEachDialOptions(t *testing.T) {
	p, b := newPlane(t), newBackend(t, "b")
	p.listener("svc", fmt.Sprintf(`route_config { %s }`, hosts("svc", to("c"))))
	p.cluster("c", "c", b)
	options := append(grpcxds.Dialer{Env: newEnv(t, fmt.Sprintf(`{"xds_servers": [%s]}`, p.entry()))}.DialOptions(),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	dial := func() *grpc.ClientConn {
		t.Helper()
		cc, err := grpc.NewClient("xds:///svc", options...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cc.Close() })
		return cc
	}
	first, second := dial(), dial()
	if got, err := call(soon(t), first, "/p.S/M"); got != "b" {
		t.Errorf("the first channel: %q, %v", got, err)
	}
	second.Connect()
	if _, err := call(soon(t), second, "/p.S/M"); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "another channel") {
		t.Errorf("the second channel: %v", err)
	}
	if got, err := call(soon(t), first, "/p.S/M"); got != "b" {
		t.Errorf("the first channel, again: %q, %v", got, err)
	}
	_ = first.Close()
	third := dial()
	if got, err := call(soon(t), third, "/p.S/M"); got != "b" {
		t.Errorf("a channel after the first: %q, %v", got, err)
	}
}

func TestRegisteredResolver(t *testing.T) {
	p, a, b := newPlane(t), newBackend(t, "a"), newBackend(t, "b")
	p.cluster("a", "a", a)
	p.cluster("b", "b", b)
	p.listener("svc", rds("r"))
	p.routes("r", hosts("svc", `routes { match { prefix: "" headers { name: "to" string_match { exact: "b" } } } route { cluster: "b" } }`+to("a")))
	p.set("filtered", new(listenerv3.Listener), `name: "filtered" api_listener { api_listener { `+managerAny+` {
		http_filters { name: "fault" typed_config { [type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault] { abort { grpc_status: 3 percentage { numerator: 100 } } } } }
		`+routerAny+` route_config { %s } } } }`, hosts("filtered", to("a")))
	before := resolver.Get("xds")
	grpcxds.Dialer{Env: newEnv(t, fmt.Sprintf(`{"xds_servers": [%s], "node": {"id": "n"}}`, p.entry()))}.RegisterResolver()
	if before != nil {
		t.Cleanup(func() { resolver.Register(before) })
	}
	dial := func(target string, opts ...grpc.DialOption) *grpc.ClientConn {
		t.Helper()
		cc, err := grpc.NewClient(target, append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cc.Close() })
		return cc
	}
	cc := dial("xds:///svc")
	if got, err := call(soon(t), cc, "/p.S/M"); got != "a" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := call(metadata.AppendToOutgoingContext(soon(t), "to", "b"), cc, "/p.S/M"); got != "b" {
		t.Errorf("%q, %v", got, err)
	}
	p.routes("r", hosts("svc", to("b")))
	until(t, cc, "b")
	p.routes("r", hosts("other", to("b")))
	failing := soon(t)
	for {
		_, err := call(failing, cc, "/p.S/M")
		if err == nil {
			continue // the routes have not arrived yet
		}
		for _, want := range []string{"Unavailable", `target "xds:///svc"`, `none is for the authority "svc"`, p.Addr(), "node n"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("a call without a route: %v; lacks %q", err, want)
			}
		}
		break
	}
	waiting, over := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer over()
	if _, err := call(waiting, cc, "/p.S/M", grpc.WaitForReady(true)); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("a call that waits for a route: %v", err)
	}
	if _, err := call(soon(t), dial("xds:///filtered"), "/p.S/M"); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "HTTP filter") {
		t.Errorf("a call that filters are for: %v", err)
	}
}
