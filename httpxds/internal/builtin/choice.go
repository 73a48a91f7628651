package builtin

import (
	"crypto/tls"
	"net"
	"net/http"
	"slices"

	"github.com/xdsforge/xdsforge/httpxds/httpfilter"
	"github.com/xdsforge/xdsforge/httpxds/internal/origin"
	"github.com/xdsforge/xdsforge/internal/extensions/matchtree"
)

// A choice chooses the interceptors of requests.
type choice[C any] struct {
	tree    *matchtree.Tree[int]
	actions []action[C]
	end     func()
}

// An action has the interceptors of an action.
type action[C any] struct {
	run        []C
	err        error // why the requests of the action fail
	perMillion uint32
}

// find returns the index of the action for a request, or -1 if the request passes.
func (c *choice[C]) find(call *matchtree.Call) int {
	i, ok := c.tree.Find(call)
	if !ok || !drawn(c.actions[i].perMillion) {
		return -1
	}
	return i
}

// Close closes the interceptors, and the instances that no other configuration uses. The last request has ended.
func (c *choice[C]) Close() error {
	c.end()
	return nil
}

// report logs the actions whose requests fail. The clients of a server do not learn the reason.
func (c *choice[C]) report(h *httpfilter.Host) {
	if h.Logger == nil {
		return
	}
	for i := range c.actions {
		if err := c.actions[i].err; err != nil {
			h.Logger.Warn("requests fail because a filter of their action cannot run", "filter", h.Name, "error", err)
		}
	}
}

// A serverChoice is the interceptor of a server.
type serverChoice struct {
	*choice[httpfilter.ServerInterceptor]
}

// Wrap implements [httpfilter.ServerInterceptor].
func (c serverChoice) Wrap(next http.Handler) http.Handler {
	handlers := make([]http.Handler, len(c.actions))
	for k, a := range c.actions {
		handlers[k] = next
		for _, i := range slices.Backward(a.run) {
			handlers[k] = i.Wrap(handlers[k])
		}
		if a.err != nil {
			handlers[k] = http.HandlerFunc(unavailable)
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if k := c.find(callOf(r)); k >= 0 {
			handlers[k].ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// unavailable is the handler of requests whose filters cannot run.
func unavailable(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, http.StatusText(http.StatusServiceUnavailable), http.StatusServiceUnavailable)
}

// A clientChoice is the interceptor of a client.
type clientChoice struct {
	*choice[httpfilter.ClientInterceptor]
	host *httpfilter.Host
}

// Wrap implements [httpfilter.ClientInterceptor].
func (c clientChoice) Wrap(next http.RoundTripper) http.RoundTripper {
	chains := make([]http.RoundTripper, len(c.actions))
	for k, a := range c.actions {
		chains[k] = next
		for _, i := range slices.Backward(a.run) {
			chains[k] = i.Wrap(chains[k])
		}
		if a.err != nil {
			chains[k] = httpfilter.RoundTrip(func(*http.Request) (*http.Response, error) { return nil, a.err })
		}
	}
	return httpfilter.RoundTrip(func(r *http.Request) (*http.Response, error) {
		if k := c.find(c.call(r)); k >= 0 {
			return chains[k].RoundTrip(r)
		}
		return next.RoundTrip(r)
	})
}

// A seen is a request, as matchers see it. It is one allocation.
type seen struct {
	*http.Request
	call    matchtree.Call
	request matchtree.Request
}

func (s *seen) see(r *http.Request, received bool, a matchtree.Attributes) *matchtree.Call {
	s.Request = r
	secure := r.TLS != nil
	if received {
		secure = origin.Scheme(r) == "https"
	}
	s.request = matchtree.Request{Method: r.Method, URL: r.URL, Host: r.Host, Header: r.Header, TLS: secure, Received: received}
	s.call = matchtree.Call{Request: &s.request, Attributes: a}
	return &s.call
}

// A received is a request that a server has received.
type received struct{ seen }

func callOf(r *http.Request) *matchtree.Call {
	s := new(received)
	return s.see(r, true, s)
}

// Peer implements [matchtree.Attributes].
func (r *received) Peer() (net.Addr, *tls.ConnectionState) {
	remote := origin.Client(r.Request)
	if !remote.IsValid() {
		return nil, r.TLS
	}
	return net.TCPAddrFromAddrPort(remote), r.TLS
}

// ClusterMetadata implements [matchtree.Attributes]. A server has no clusters.
func (*received) ClusterMetadata(string) (map[string]any, bool) { return nil, false }

// A sent is a request that a client sends.
type sent struct {
	seen
	host *httpfilter.Host
}

func (c clientChoice) call(r *http.Request) *matchtree.Call {
	s := &sent{host: c.host}
	return s.see(r, false, s)
}

// Peer implements [matchtree.Attributes]. The endpoint is not chosen yet.
func (*sent) Peer() (net.Addr, *tls.ConnectionState) { return nil, nil }

// ClusterMetadata implements [matchtree.Attributes].
func (s *sent) ClusterMetadata(key string) (map[string]any, bool) {
	name := httpfilter.ClusterOf(s.Context())
	if s.host.Cluster == nil || name == "" {
		return nil, false
	}
	u, err := s.host.Cluster(name)
	if err != nil {
		return nil, false
	}
	fields, ok := u.Metadata[key].Value.(map[string]any)
	return fields, ok
}
