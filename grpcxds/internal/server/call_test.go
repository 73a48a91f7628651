package server

import (
	"errors"
	"log/slog"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
)

// Calls of a route with a client action fail, both unary calls and streams, even if the chain has
// only the router filter.
func TestRoutesOfClientsFailWithoutFilters(t *testing.T) {
	s := newStage(t)
	s.listener(`filter_chains { ` + hcm + `route_config { virtual_hosts { domains: "*"
		routes { name: "client" match { prefix: "/" } route { cluster: "c" } } } } ` + routerEnd + `}`)
	s.serving("")
	cc := s.dial()
	const reason = `the route "client" of RouteConfiguration "web" is not for servers`
	wants(t, unary(t.Context(), cc), codes.Unavailable, reason)
	wants(t, stream(t.Context(), cc), codes.Unavailable, reason)
}

// A route's override of a filter has precedence over that of its virtual host, which has precedence
// over the filter chain's configuration.
func TestRoutesOverrideTheirVirtualHost(t *testing.T) {
	s := newStage(t)
	s.listener(`filter_chains { ` + hcm + `route_config { virtual_hosts { domains: "*" ` + permitAll + `
		routes { match { path: "/grpc.testing.TestService/EmptyCall" } non_forwarding_action {} ` + denyAll + ` }
		routes { match { prefix: "/" } non_forwarding_action {} } } } ` + allowAll + routerEnd + `}`)
	s.serving("")
	cc := s.dial()
	wants(t, unary(t.Context(), cc), codes.PermissionDenied, "")
	wants(t, stream(t.Context(), cc), codes.OK, "")
}

// A context without an authority has an empty one. Only the domain "*" matches it.
func TestAuthorityOfACall(t *testing.T) {
	for want, md := range map[string]metadata.MD{"": nil, "a.example": metadata.Pairs(":authority", "a.example")} {
		if got := (headers{metadata.NewIncomingContext(t.Context(), md)}).authority(); got != want {
			t.Errorf("the authority of the metadata %v is %q; want %q", md, got, want)
		}
	}
}

// A clockedListener returns given results from Accept and records the time of each call.
type clocked struct {
	flaky

	start time.Time
	asked []time.Duration
}

func (c *clocked) Accept() (net.Conn, error) {
	c.asked = append(c.asked, time.Since(c.start))
	if c.errs[0] == nil {
		c.errs = c.errs[1:]
		a, b := net.Pipe()
		_ = b.Close() // the port closes the other end
		return a, nil
	}
	return c.flaky.Accept()
}

// The port waits after each error of its socket: twice as long each time, and a second at most. A
// connection resets the delay.
func TestPausesOfAccept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := temporary{errors.New("busy")}
		errs := slices.Repeat([]error{busy}, 10)
		c := &clocked{flaky: flaky{errs: append(errs, nil, busy, errors.New("broken"))}, start: time.Now()}
		p, err := NewPort(&Config{Logger: slog.New(slog.DiscardHandler)}, c, "web")
		check(t, err)
		if err := p.accept(); err == nil {
			t.Error("accept returns no error")
		}
		const ms = time.Millisecond
		want := []time.Duration{0}
		for _, pause := range []time.Duration{5 * ms, 10 * ms, 20 * ms, 40 * ms, 80 * ms, 160 * ms, 320 * ms, 640 * ms, time.Second, time.Second, 0, 5 * ms} {
			want = append(want, want[len(want)-1]+pause)
		}
		if !slices.Equal(c.asked, want) {
			t.Errorf("Accept calls of the socket at %v; want %v", c.asked, want)
		}
	})
}
