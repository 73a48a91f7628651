package httpfilter

import (
	"context"
	"net/http"

	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
)

// A ClientInstance owns the state of a filter of an HTTP client that survives updates. A client has an instance for each
// entry of its Listener's list of filters: its name and the message of its configuration.
type ClientInstance interface {
	// Interceptor creates the interceptor of a configuration. It is called once for each [Use] in a new
	// configuration, not for each request. A nil interceptor lets every request pass. An error makes the requests of the
	// routes that have the Use fail.
	Interceptor(Use) (ClientInterceptor, error)
	// Close is called after all interceptors have ended.
	Close()
}

// A ClientInterceptor handles requests by one configuration. If it is an [io.Closer], it is closed after the last request
// that began with its configuration, and after the body of its response.
type ClientInterceptor interface {
	// Wrap returns a RoundTripper that passes requests to next, or responds itself. Wrap is called for each cluster of
	// each route. The state of the filter therefore belongs to the interceptor. The RoundTripper is used concurrently.
	//
	// next chooses an endpoint, makes the attempts and applies the changes of the route. The route is chosen before.
	// The filter passes the context of its request, or one derived from it. It may change neither its request nor the
	// request's headers, but pass a copy. It may call next again for a request whose body can be read twice. It need not
	// close the body of a request that it does not pass.
	Wrap(next http.RoundTripper) http.RoundTripper
}

// ClientMiddleware is a [ClientInterceptor] without a Close method.
type ClientMiddleware func(next http.RoundTripper) http.RoundTripper

// Wrap implements [ClientInterceptor].
func (m ClientMiddleware) Wrap(next http.RoundTripper) http.RoundTripper { return m(next) }

// RoundTrip is an [http.RoundTripper] that is a function.
type RoundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (f RoundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// ClientStateless returns the NewClient of a filter that keeps no state across updates. The function creates its
// middleware. A nil middleware lets every request pass.
func ClientStateless(create func(config, override any) (ClientMiddleware, error)) func(Host) (ClientInstance, error) {
	return func(Host) (ClientInstance, error) { return clientStateless(create), nil }
}

type clientStateless func(config, override any) (ClientMiddleware, error)

// Interceptor implements [ClientInstance].
func (s clientStateless) Interceptor(u Use) (ClientInterceptor, error) {
	m, err := s(u.Config, u.Override)
	if m == nil || err != nil {
		return nil, err
	}
	return m, nil
}

// Close implements [ClientInstance].
func (clientStateless) Close() {}

// ClusterOf returns the cluster of a request from the context that a filter of a client gets. It is empty for routes with a
// response of their own.
func ClusterOf(ctx context.Context) string {
	if c := lbtree.CallOf(ctx); c != nil {
		return c.Cluster
	}
	return ""
}
