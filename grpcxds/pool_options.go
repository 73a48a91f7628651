package grpcxds

import (
	"cmp"
	"log/slog"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/certprovider"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
)

// A PoolOption sets up a [Pool].
type PoolOption func(*Pool)

// WithBootstrap sets where control planes are, in the place of what the environment
// names. Nil is a no-op.
func WithBootstrap(c *bootstrap.Config) PoolOption {
	return func(p *Pool) { p.config = cmp.Or(c, p.config) }
}

// WithTypes sets the resource types and extensions, in the place of those of package
// standard. The set must have Listener and RouteConfiguration for servers, and Cluster
// and ClusterLoadAssignment too for channels. Nil is a no-op.
func WithTypes(types *resource.Set) PoolOption {
	return func(p *Pool) { p.types = cmp.Or(types, p.types) }
}

// WithFilters adds HTTP filters to the built-in ones (gRFC A39), and puts them in the place
// of those for the same configuration. What reads their configurations is added to the set
// of types, unless it is in there; with [WithTypes], a filter for a configuration that
// another one of the set is for is an error of NewPool.
func WithFilters(filters ...httpfilter.Filter) PoolOption {
	return func(p *Pool) { p.filters = append(p.filters, filters...) }
}

// WithCertificateProviders adds certificate provider plugins to the built-in ones (gRFC
// A29). What checks their configurations is added to the set of types, unless it is in
// there. A plugin with the name of another one is an error of NewPool.
func WithCertificateProviders(plugins ...certprovider.Plugin) PoolOption {
	return func(p *Pool) { p.plugins = append(p.plugins, plugins...) }
}

// WithLogger sets where the pool, its clients and servers log. The default is
// slog.Default(), at the time of NewPool. Nil is a no-op.
func WithLogger(l *slog.Logger) PoolOption {
	return func(p *Pool) { p.logger = cmp.Or(l, p.logger) }
}

// WithClientOptions sets up the xDS clients, apart from their connections.
func WithClientOptions(opts ...client.Option) PoolOption {
	return func(p *Pool) { p.options = append(p.options, opts...) }
}

// WithConnections shares connections to control planes with clients outside of the pool;
// they are not closed with it. Nil is a no-op.
func WithConnections(connections *client.Pool) PoolOption {
	return func(p *Pool) {
		if connections != nil {
			p.connections, p.shared = connections, true
		}
	}
}
