package statefulsession

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	config "github.com/xdsforge/xdsforge/plugins/httpfilter/statefulsession"
)

// A response is the stream of a call whose endpoint is known.
type response struct {
	grpc.ClientStream
	header, trailer metadata.MD
}

func (r *response) Header() (metadata.MD, error) { return r.header, nil }
func (r *response) Trailer() metadata.MD         { return r.trailer }
func (r *response) RecvMsg(any) error            { return nil }

// A caller makes calls with a filter.
type caller struct {
	*testing.T
	filter httpfilter.ClientInterceptor
	// cluster and used are those of the call. used is empty if the call reached no endpoint.
	cluster, used string
	response      response
	// asked is what the last call asked of the pickers.
	asked *lbtree.Call
}

func newCaller(t *testing.T, c config.Config) *caller {
	t.Helper()
	instance, err := Filter().NewClient(httpfilter.Host{})
	if err != nil {
		t.Fatal(err)
	}
	i, err := instance.Interceptor(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &caller{T: t, filter: i, cluster: "c", used: "10.0.0.1:1", response: response{header: metadata.Pairs("x", "y")}}
}

// call makes a call and returns the new cookies of its headers and trailers.
func (c *caller) call(ctx context.Context, method string, cookies ...string) (header, trailer []string) {
	c.Helper()
	ctx = lbtree.WithCall(ctx, &lbtree.Call{Cluster: c.cluster, Clusters: []string{c.cluster, "other"}})
	call := &httpfilter.ClientCall{Method: method, Metadata: metadata.MD{"cookie": cookies}}
	s, err := c.filter.NewStream(ctx, call, func(ctx context.Context, _ ...grpc.CallOption) (grpc.ClientStream, error) {
		c.asked = lbtree.CallOf(ctx)
		if c.used != "" && c.asked.Affinity != nil {
			c.asked.Affinity.Use(&c.used)
		}
		return &c.response, nil
	})
	if err != nil {
		c.Fatal(err)
	}
	_ = s.RecvMsg(nil)
	md, _ := s.Header()
	return md["set-cookie"], s.Trailer()["set-cookie"]
}

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// The first cookie with the name counts. Its addresses and its cluster are asked of the pickers, if it is valid.
func TestCookieOfACall(t *testing.T) {
	good := "s=" + encoded("10.0.0.1:1,10.0.0.2:2;other")
	for _, test := range []struct {
		cookies   []string
		addresses []string
		cluster   string
	}{
		{nil, nil, "c"},
		{[]string{good}, []string{"10.0.0.1:1", "10.0.0.2:2"}, "other"},
		{[]string{"a=b;  " + good + " ; s=" + encoded("x;c")}, []string{"10.0.0.1:1", "10.0.0.2:2"}, "other"},
		{[]string{"a=b", good, "s=" + encoded("x;c")}, []string{"10.0.0.1:1", "10.0.0.2:2"}, "other"},
		{[]string{`s="` + encoded("x;c") + `"`}, []string{"x"}, "c"},
		{[]string{strings.TrimRight("s="+encoded("xy;c"), "=")}, []string{"xy"}, "c"},
		{[]string{"s=" + encoded("x;unknown")}, []string{"x"}, "c"},
		{[]string{"s=" + encoded("x")}, []string{"x"}, "c"},
		{[]string{"S=" + encoded("x;c"), "ss=" + encoded("y;c"), "s"}, nil, "c"},
		{[]string{"s=!"}, nil, "c"},
		{[]string{"s="}, nil, "c"},
		{[]string{"s=" + encoded(strings.Repeat("x", maxCookie))}, nil, "c"},
	} {
		c := newCaller(t, config.Config{Name: "s", Path: "/"})
		c.call(t.Context(), "/p.S/M", test.cookies...)
		if got := c.asked; !slices.Equal(got.Affinity.Addresses, test.addresses) || got.Cluster != test.cluster {
			t.Errorf("cookies %.200q: addresses %q of %s; want %q of %s", test.cookies, got.Affinity.Addresses, got.Cluster, test.addresses, test.cluster)
		}
	}
}

// A response sets a cookie if the endpoint or the cluster differs from those of the request, in the headers or, without
// these, in the trailers. A call without a response sets none.
func TestCookieOfAResponse(t *testing.T) {
	same := "s=" + encoded("10.0.0.1:1;c")
	set := []string{same + "; HttpOnly; Path=/; Max-Age=7"}
	header, trailer := metadata.Pairs("x", "y"), metadata.Pairs("content-type", "application/grpc")
	for name, test := range map[string]struct {
		cluster, used, cookie string
		header, trailer       metadata.MD
		inHeader, inTrailer   []string
	}{
		"no cookie":                   {"c", "10.0.0.1:1", "", header, trailer, set, nil},
		"the same endpoint":           {"c", "10.0.0.1:1", same, header, trailer, nil, nil},
		"another endpoint":            {"c", "10.0.0.1:1", "s=" + encoded("10.0.0.2:1;c"), header, trailer, set, nil},
		"another cluster":             {"c", "10.0.0.1:1", "s=" + encoded("10.0.0.1:1;d"), header, trailer, set, nil},
		"another order":               {"c", "b,a", "s=" + encoded("a,b;c"), header, trailer, []string{"s=" + encoded("b,a;c") + "; HttpOnly; Path=/; Max-Age=7"}, nil},
		"a plugin":                    {xdsconfig.PluginTarget("p"), "a", "", header, trailer, []string{"s=" + encoded("a") + "; HttpOnly; Path=/; Max-Age=7"}, nil},
		"only trailers":               {"c", "10.0.0.1:1", "", nil, trailer, nil, set},
		"the same, and only trailers": {"c", "10.0.0.1:1", same, nil, trailer, nil, nil},
		"no response":                 {"c", "10.0.0.1:1", "", nil, nil, nil, nil},
		"no endpoint":                 {"c", "", "", header, trailer, nil, nil},
	} {
		c := newCaller(t, config.Config{Name: "s", Path: "/", TTL: 7 * time.Second})
		c.cluster, c.used, c.response = test.cluster, test.used, response{header: test.header, trailer: test.trailer}
		var cookies []string
		if test.cookie != "" {
			cookies = []string{test.cookie}
		}
		inHeader, inTrailer := c.call(t.Context(), "/p.S/M", cookies...)
		if !slices.Equal(inHeader, test.inHeader) || !slices.Equal(inTrailer, test.inTrailer) {
			t.Errorf("%s: the headers set %q, the trailers %q; want %q and %q", name, inHeader, inTrailer, test.inHeader, test.inTrailer)
		}
		if len(test.header["set-cookie"])+len(test.trailer["set-cookie"]) > 0 {
			t.Errorf("%s: the metadata of the response was changed", name)
		}
	}
}

// The path of a cookie covers paths by RFC 6265. Calls of other paths have no session.
func TestPaths(t *testing.T) {
	for _, test := range []struct {
		path, method string
		want         bool
	}{
		{"/", "/p.S/M", true},
		{"/p.S", "/p.S/M", true},
		{"/p.S/", "/p.S/M", true},
		{"/p.S/M", "/p.S/M", true},
		{"/p.S/M", "/p.S/MM", false},
		{"/p", "/p.S/M", false},
		{"/q.S", "/p.S/M", false},
		{"/p.S/M/x", "/p.S/M", false},
	} {
		c := newCaller(t, config.Config{Name: "s", Path: test.path})
		set, _ := c.call(t.Context(), test.method)
		if got := len(set) == 1; got != test.want || (c.asked.Affinity != nil) != test.want {
			t.Errorf("a cookie for %s sets %q for %s; want a cookie: %t", test.path, set, test.method, test.want)
		}
	}
}

// A Session sends the cookie of the last response until it expires. A cookie of the program has precedence.
func TestSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCaller(t, config.Config{Name: "s", Path: "/", TTL: time.Minute})
		s := new(Session)
		expect := func(when string, want ...string) {
			t.Helper()
			if got := c.asked.Affinity.Addresses; !slices.Equal(got, want) {
				t.Errorf("%s: the call asks for %q; want %q", when, got, want)
			}
		}
		c.call(s.Join(t.Context()), "/p.S/M")
		expect("the first call")
		c.call(s.Join(t.Context()), "/p.S/M")
		expect("the second call", "10.0.0.1:1")
		c.call(t.Context(), "/p.S/M")
		expect("a call of no session")
		c.call(new(Session).Join(t.Context()), "/p.S/M")
		expect("a call of another session")
		c.call(s.Join(t.Context()), "/p.S/M", "s="+encoded("x;c"))
		expect("with a cookie of the program", "x")
		c.used = "10.0.0.2:1"
		c.call(s.Join(t.Context()), "/p.S/M")
		expect("before the endpoint changes", "10.0.0.1:1")
		c.call(s.Join(t.Context()), "/p.S/M")
		expect("after the endpoint has changed", "10.0.0.2:1")
		<-time.NewTimer(time.Minute).C
		c.call(s.Join(t.Context()), "/p.S/M")
		expect("after the cookie has expired")
	})
}

// Routes without a usable action, errors and other configurations.
func TestNoSession(t *testing.T) {
	f := newCookie(config.Config{Name: "s", Path: "/"})
	want := &response{}
	s, err := f.NewStream(t.Context(), &httpfilter.ClientCall{Method: "/p.S/M"}, func(context.Context, ...grpc.CallOption) (grpc.ClientStream, error) {
		return want, nil
	})
	if s != want || err != nil {
		t.Errorf("a call without a cluster has the stream %v, %v; want that of the rest of the call", s, err)
	}
	if _, err := f.NewStream(t.Context(), &httpfilter.ClientCall{Method: "/p.S/M"}, func(context.Context, ...grpc.CallOption) (grpc.ClientStream, error) {
		return nil, io.ErrClosedPipe
	}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("the call fails with %v; want the error of the rest of the call", err)
	}
	instance, _ := Filter().NewClient(httpfilter.Host{})
	if i, err := instance.Interceptor(config.Config{Name: "s", Path: "/"}, config.Config{}); i != nil || err != nil {
		t.Errorf("a disabled override has the interceptor %v, %v; want none", i, err)
	}
	if _, err := instance.Interceptor("text", nil); err == nil {
		t.Error("a configuration of another type has no error")
	}
}
