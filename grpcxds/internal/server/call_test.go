package server

import (
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/xdsforge/xdsforge/internal/dataplane/security"
	"github.com/xdsforge/xdsforge/internal/dataplane/server"
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

// Filters can read the server's certificate if the control plane configures TLS.
func TestCertificateOfACall(t *testing.T) {
	b := &backend{config: &Config{Register: func(grpc.ServiceRegistrar) {}}}
	for _, tls := range []*security.Server{nil, new(security.Server)} {
		c := b.Chain(server.Opening[*routing]{Addr: new(net.TCPAddr), TLS: tls}).(*chainServer)
		if call := c.newCall(t.Context(), "/a/b"); (call.LocalCertificate != nil) != (tls != nil) {
			t.Errorf("with TLS %t, the certificate can be read: %t", tls != nil, call.LocalCertificate != nil)
		}
		c.Stop()
	}
}
