package httpfilter

import (
	"log/slog"
	"net/http"
	"net/netip"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/httpxds/internal/origin"
	"github.com/xdsforge/xdsforge/plugins/cluster"
)

// A Filter is an HTTP filter that runs. At least one of NewServer and NewClient is set, according to the sides that HTTPFilter
// supports. A terminal filter, which only ends a list, needs neither.
type Filter struct {
	// HTTPFilter reads and validates the configuration.
	*resource.HTTPFilter
	// NewServer creates the instance for an entry of a Listener's list of filters. The instance lives as long as the
	// list of that filter chain has an entry with the same name and message, whatever its configuration.
	NewServer func(Host) (ServerInstance, error)
	// NewClient creates the instance for an entry of the list of filters of a client's Listener.
	NewClient func(Host) (ClientInstance, error)
}

// A Host tells an instance where it runs.
type Host struct {
	// Name is the name of the filter in its list.
	Name string
	// Target is the target of the client. It is empty on servers.
	Target string
	// Cluster returns the newest resource of a cluster of the client, such as that of [ClusterOf], or the reason why there is
	// none. It is nil on servers.
	Cluster func(name string) (*cluster.Update, error)
	// Filter returns the filter that runs with a configuration message, or nil. It is for filters that contain filters (gRFC
	// A103).
	Filter func(message string) *Filter
	// Logger is the logger of the server or the client.
	Logger *slog.Logger
}

// A ServerInstance owns the state of a filter that survives updates, such as the tokens of a rate limit.
type ServerInstance interface {
	// Interceptor creates the interceptor of a configuration. It is called once for each [Use] in a new
	// configuration, not for each request. A nil interceptor lets every request pass.
	Interceptor(Use) (ServerInterceptor, error)
	// Close is called after all interceptors have ended.
	Close()
}

// A Use is a configuration of a filter at one place.
type Use struct {
	// Config is the result of Parse.
	Config any
	// Override is the result of ParseOverride for the most specific of weighted cluster, route and virtual host, or nil
	// if there is none. Servers have no weighted clusters.
	Override any
	// Scope identifies the place of the configuration across updates. It is empty for the list of filters itself, and
	// otherwise has the names of the virtual host and of the route that override the configuration, and the index of the
	// weighted cluster.
	Scope string
}

// A ServerInterceptor handles requests by one configuration. If it is an [io.Closer], it is closed after the last
// request that began with its configuration.
type ServerInterceptor interface {
	// Wrap returns a handler that passes requests to next, or responds itself. Wrap is called once for each kind of
	// route action. The state of the filter therefore belongs to the interceptor and not to the handler. The handler
	// is called concurrently.
	//
	// A handler that passes another [http.ResponseWriter] to next must implement Unwrap, as for
	// [http.ResponseController].
	Wrap(next http.Handler) http.Handler
}

// Middleware is a [ServerInterceptor] without a Close method.
type Middleware func(next http.Handler) http.Handler

// Wrap implements [ServerInterceptor].
func (m Middleware) Wrap(next http.Handler) http.Handler { return m(next) }

// Stateless returns the NewServer of a filter that keeps no state across updates. The function creates its middleware.
// A nil middleware lets every request pass.
func Stateless(create func(config, override any) (Middleware, error)) func(Host) (ServerInstance, error) {
	return func(Host) (ServerInstance, error) { return stateless(create), nil }
}

type stateless func(config, override any) (Middleware, error)

// Interceptor implements [ServerInstance].
func (s stateless) Interceptor(u Use) (ServerInterceptor, error) {
	m, err := s(u.Config, u.Override)
	if m == nil || err != nil {
		return nil, err
	}
	return m, nil
}

// Close implements [ServerInstance].
func (stateless) Close() {}

// ClientAddr returns the address of the client of a request that a server has received, as rules of RBAC see it. Behind proxies that
// the Listener trusts, it is not that of the connection's peer, which [http.Request.RemoteAddr] has. It is the zero value if the
// client has no IP address.
func ClientAddr(r *http.Request) netip.Addr { return origin.Client(r).Addr() }
