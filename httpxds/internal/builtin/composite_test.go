package builtin

import (
	"bytes"
	"crypto/tls"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/httpxds/httpfilter"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/extensions/matchtree"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/composite"
)

// always returns a configuration that chooses one action with a filter for all requests.
func always(message string) composite.Config {
	return composite.Config{
		Matcher: &matchtree.Tree[int]{None: new(matchtree.Outcome[int])},
		Actions: []composite.Action{{PerMillion: 1_000_000, Filters: []composite.Nested{{Name: "inner", Message: message, Config: 1}}}},
	}
}

// A server logs the reason why requests of an action get 503. A filter may be unknown, and may reject its configuration.
func TestCompositeReportsFilters(t *testing.T) {
	for _, tt := range []struct {
		message string
		filter  func(string) *httpfilter.Filter
		want    string
	}{
		{"test.Unknown", nil, "does not run on this side"},
		{"test.Unknown", func(string) *httpfilter.Filter { return nil }, "does not run on this side"},
		{"test.Limit", func(string) *httpfilter.Filter { f := rateLimit(); return &f }, "the configuration is a int"},
	} {
		var log bytes.Buffer
		instance, err := compositeFilter().NewServer(httpfilter.Host{Name: "outer", Filter: tt.filter, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		i, err := instance.Interceptor(httpfilter.Use{Config: always(tt.message)})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"filter=outer", `HTTP filter \"inner\"`, tt.want} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log is %q; want %s in it", log.String(), want)
			}
		}
		w := httptest.NewRecorder()
		i.Wrap(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody))
		if w.Code != http.StatusServiceUnavailable || strings.Contains(w.Body.String(), "inner") {
			t.Errorf("a request gets %d %q; want 503 without the reason", w.Code, w.Body)
		}
	}
}

// A filter whose matcher was not decoded does not run, because it may deny requests. Nor does an override of that kind.
func TestCompositeUnread(t *testing.T) {
	unread := composite.Config{Unread: true}
	for _, u := range []httpfilter.Use{{Config: unread}, {Config: composite.Config{}, Override: unread}} {
		server, err := compositeFilter().NewServer(httpfilter.Host{})
		if err != nil {
			t.Fatal(err)
		}
		if i, err := server.Interceptor(u); err == nil || i != nil {
			t.Errorf("a server has the interceptor %v, %v; want an error", i, err)
		}
		client, err := compositeFilter().NewClient(httpfilter.Host{})
		if err != nil {
			t.Fatal(err)
		}
		if i, err := client.Interceptor(u); err == nil || i != nil {
			t.Errorf("a client has the interceptor %v, %v; want an error", i, err)
		}
	}
}

// Matchers of servers see the address and the TLS connection of a client. The address may be that of a Unix socket.
func TestPeerOfRequests(t *testing.T) {
	state := new(tls.ConnectionState)
	for remote, want := range map[string]string{"[::ffff:10.0.0.1]:80": "10.0.0.1:80", "@": ""} {
		addr, got := callOf(&http.Request{RemoteAddr: remote, TLS: state}).Attributes.Peer()
		text := ""
		if addr != nil {
			text = addr.String()
		}
		if text != want || got != state {
			t.Errorf("%s: the address %q and the state %p; want %q and %p", remote, text, got, want, state)
		}
	}
}

// Matchers of servers see the scheme of the connection, and not that of the URL, which the client of the server can choose.
func TestSchemeOfRequests(t *testing.T) {
	c := &choice[httpfilter.ServerInterceptor]{
		tree:    &matchtree.Tree[int]{Header: ":scheme", Values: map[string]matchtree.Outcome[int]{"https": {}}},
		actions: []action[httpfilter.ServerInterceptor]{{err: errSide, perMillion: 1_000_000}},
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://shop/", http.NoBody)
	for _, want := range []int{http.StatusServiceUnavailable, http.StatusNotFound} {
		w := httptest.NewRecorder()
		serverChoice{c}.Wrap(http.NotFoundHandler()).ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("a request with the TLS state %p gets %d; want %d", r.TLS, w.Code, want)
		}
		r.TLS = nil
	}
}

// Matchers of clients see no metadata of a cluster that the configuration does not have, and none of a type other than Struct.
func TestClusterMetadataOfRequests(t *testing.T) {
	u := &cluster.Update{Metadata: map[string]resource.Metadatum{"struct": {Value: map[string]any{"a": "b"}}, "other": {Value: "text"}}}
	found := func(string) (*cluster.Update, error) { return u, nil }
	missing := func(string) (*cluster.Update, error) { return nil, errors.New("missing") }
	for _, tt := range []struct {
		name, key string
		find      func(string) (*cluster.Update, error)
		want      bool
	}{
		{"c", "struct", found, true},
		{"c", "other", found, false},
		{"c", "none", found, false},
		{"", "struct", found, false},
		{"c", "struct", missing, false},
		{"c", "struct", nil, false},
	} {
		r := httptest.NewRequestWithContext(lbtree.WithCall(t.Context(), &lbtree.Call{Cluster: tt.name}), http.MethodGet, "/", http.NoBody)
		c := clientChoice{nil, &httpfilter.Host{Cluster: tt.find}}.call(r)
		if fields, ok := c.Attributes.ClusterMetadata(tt.key); ok != tt.want || ok && fields["a"] != "b" {
			t.Errorf("%q of the cluster %q: %v, %v; want %v", tt.key, tt.name, fields, ok, tt.want)
		}
	}
}

// The choice costs a request one allocation.
func TestCompositeAllocations(t *testing.T) {
	tree := &matchtree.Tree[int]{None: new(matchtree.Outcome[int])}
	actions := []action[httpfilter.ServerInterceptor]{{perMillion: 1_000_000}}
	h := serverChoice{&choice[httpfilter.ServerInterceptor]{tree: tree, actions: actions}}.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	if n := testing.AllocsPerRun(100, func() { h.ServeHTTP(nil, r) }); n > 1 {
		t.Errorf("%v allocations on a server; want 1", n)
	}
	c := clientChoice{&choice[httpfilter.ClientInterceptor]{tree: tree, actions: []action[httpfilter.ClientInterceptor]{{perMillion: 1_000_000}}}, new(httpfilter.Host)}
	rt := c.Wrap(httpfilter.RoundTrip(func(*http.Request) (*http.Response, error) { return nil, nil })) //nolint:nilnil // counts only
	if n := testing.AllocsPerRun(100, func() { _, _ = rt.RoundTrip(r) }); n > 1 {
		t.Errorf("%v allocations on a client; want 1", n)
	}
}
