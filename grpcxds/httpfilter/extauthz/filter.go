package extauthz

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	config "github.com/xdsforge/xdsforge/plugins/httpfilter/extauthz"
)

// Filter returns the filter. Overrides can only disable and enable it (A92). The channel to the authorization server survives
// updates that keep its target and credentials.
func Filter() *httpfilter.Filter {
	return &httpfilter.Filter{
		HTTPFilter: config.Filter(resolvable),
		NewClient:  func(h httpfilter.Host) (httpfilter.ClientInstance, error) { return clientInstance{h}, nil },
		NewServer:  func(h httpfilter.Host) (httpfilter.ServerInstance, error) { return serverInstance{h}, nil },
	}
}

// resolvable reports whether a channel can have a target with this scheme.
func resolvable(scheme string) bool {
	return strings.EqualFold(scheme, "xds") || resolver.Get(scheme) != nil
}

// A clientInstance has the filter of a channel. Its interceptors share the channels of the host.
type clientInstance struct{ host httpfilter.Host }

// Interceptor implements [httpfilter.ClientInstance].
func (i clientInstance) Interceptor(c, _ any) (httpfilter.ClientInterceptor, error) {
	a, err := newAuthorizer(i.host, c)
	if err != nil {
		return nil, err
	}
	a.metrics, err = newMetrics(i.host.Meter, "client", i.host.Target)
	if err != nil {
		_ = a.Close() // it never fails
		return nil, err
	}
	return &clientFilter{a}, nil
}

// Close implements [httpfilter.ClientInstance].
func (clientInstance) Close() {}

// A serverInstance has the filter of a server's filter chain.
type serverInstance struct{ host httpfilter.Host }

// Interceptor implements [httpfilter.ServerInstance].
func (i serverInstance) Interceptor(c, _ any) (httpfilter.ServerInterceptor, error) {
	a, err := newAuthorizer(i.host, c)
	if err != nil {
		return nil, err
	}
	a.metrics, err = newMetrics(i.host.Meter, "server", "")
	if err != nil {
		_ = a.Close() // it never fails
		return nil, err
	}
	return &serverFilter{a}, nil
}

// Close implements [httpfilter.ServerInstance].
func (serverInstance) Close() {}

func newAuthorizer(h httpfilter.Host, c any) (*authorizer, error) {
	read, ok := c.(config.Config)
	if !ok {
		return nil, fmt.Errorf("extauthz: the configuration is a %T; must be one that the filter has read", c)
	}
	cc, release, err := h.Channel(read.Service)
	if err != nil {
		return nil, fmt.Errorf("extauthz: %w", err)
	}
	return &authorizer{config: read, server: newServer(cc), release: release, random: rand.Uint32N}, nil
}
