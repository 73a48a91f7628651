package extproc

import (
	"fmt"
	"strings"

	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	config "github.com/xdsforge/xdsforge/plugins/httpfilter/extproc"
)

// Filter returns the filter. The channel to the processor survives updates that keep its target and credentials.
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
func (i clientInstance) Interceptor(c, override any) (httpfilter.ClientInterceptor, error) {
	p, err := newProcessor(i.host, c, override, "client")
	if p == nil {
		return nil, err
	}
	return &clientFilter{p}, nil
}

// Close implements [httpfilter.ClientInstance].
func (clientInstance) Close() {}

// A serverInstance has the filter of a server's filter chain.
type serverInstance struct{ host httpfilter.Host }

// Interceptor implements [httpfilter.ServerInstance].
func (i serverInstance) Interceptor(c, override any) (httpfilter.ServerInterceptor, error) {
	p, err := newProcessor(i.host, c, override, "server")
	if p == nil {
		return nil, err
	}
	return &serverFilter{p}, nil
}

// Close implements [httpfilter.ServerInstance].
func (serverInstance) Close() {}

// merge returns the configuration of a route.
func merge(c, override any) (config.Config, error) {
	out, ok := c.(config.Config)
	if !ok {
		return out, fmt.Errorf("extproc: the configuration is a %T; must be one that the filter has read", c)
	}
	if override == nil {
		return out, nil
	}
	o, ok := override.(config.Override)
	if !ok {
		return out, fmt.Errorf("extproc: the override is a %T; must be one that the filter has read", override)
	}
	return o.Apply(out), nil
}
