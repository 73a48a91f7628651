package httpxds_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3" // for prototext
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/httpxds"
	"github.com/xdsforge/xdsforge/httpxds/httpfilter"
)

// adding returns changes of the filter header_mutation that add a value to x-a of requests and of responses.
func adding(value string) string {
	return fmt.Sprintf(`mutations {
		request_mutations { append { header { key: "x-a" value: %[1]q } } } response_mutations { append { header { key: "x-a" value: %[1]q } } } }`, value)
}

// headerOf returns a header of the response to a request, and its body.
func headerOf(t *testing.T, rt http.RoundTripper, url, name string) (string, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(soon(t), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := rt.RoundTrip(r)
	if err != nil {
		return "", err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return strings.Join(resp.Header.Values(name), ","), string(body)
}

// Header mutations of a client run once for each request, before the changes of the route. The most specific override applies.
func TestClientHeaderMutation(t *testing.T) {
	w := newWorld(t)
	var attempts atomic.Int64
	w.cluster("c", "", serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/retry" && attempts.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, strings.Join(r.Header.Values("X-A"), ","))
	}))
	own := func(value string) string {
		return override("header_mutation.v3.HeaderMutationPerRoute", adding(value))
	}
	const off = ` typed_per_filter_config { key: "header_mutation" value { [type.googleapis.com/envoy.config.route.v3.FilterConfig] { disabled: true } } }`
	w.filtered(filter("header_mutation.v3.HeaderMutation", adding("list")), `virtual_hosts { name: "h" domains: "svc" %s
		routes { match { path: "/route" } route { cluster: "c" } request_headers_to_add { header { key: "x-a" value: "%%REQ(x-a)%%2" } append_action: OVERWRITE_IF_EXISTS } %s }
		routes { match { path: "/weighted" } route { weighted_clusters { clusters { name: "c" weight { value: 1 } %s } } } %s }
		routes { match { path: "/off" } route { cluster: "c" } %s }
		routes { match { path: "/direct" } direct_response { status: 200 body { inline_string: "direct" } } }
		routes { match { path: "/retry" } route { cluster: "c" retry_policy { retry_on: "5xx" } } }
		routes { match { prefix: "" } route { cluster: "c" } } }`, own("host"), own("route"), own("weight"), own("route"), off)
	rt := w.transport()
	for path, want := range map[string]string{
		"/":         "list,host: list,host",
		"/retry":    "list,host: list,host",
		"/route":    "list,route: list2",
		"/weighted": "list,weight: list,weight",
		"/off":      ": ",
		"/direct":   "list,host: direct",
	} {
		header, body := headerOf(t, rt, "http://svc"+path, "X-A")
		if got := header + ": " + body; got != want {
			t.Errorf("%s: %s; want %s", path, got, want)
		}
	}
	if n := attempts.Load(); n != 2 {
		t.Errorf("the endpoint got %d attempts; want 2", n)
	}
}

// An injected fault is a response, which other filters see. It is not sent to the endpoint.
func TestClientFault(t *testing.T) {
	w := newWorld(t)
	w.cluster("c", "", serve(t, named("a")))
	abort := ` abort { http_status: 418 percentage { numerator: 100 } }`
	w.filtered(filter("header_mutation.v3.HeaderMutation", adding("list"))+filter("fault.v3.HTTPFault", `upstream_cluster: "c"`+abort),
		`virtual_hosts { name: "h" domains: "svc" routes { match { prefix: "/other" } route { cluster: "c" } %s } %s }`,
		override("fault.v3.HTTPFault", `upstream_cluster: "d"`+abort), to("c"))
	rt := w.transport()
	if header, body := headerOf(t, rt, "http://svc/", "X-A"); header != "list" || body != "fault filter abort" {
		t.Errorf("a request with a fault: %q %q", header, body)
	}
	if _, body := headerOf(t, rt, "http://svc/other", "X-A"); body != "a HTTP/1.1" {
		t.Errorf("a request to another cluster than that of the fault: %q", body)
	}
}

// Requests without a route pass the filters with the configuration of the list.
func TestClientFiltersOfUnmatchedRequests(t *testing.T) {
	w := newWorld(t)
	w.cluster("c", "", serve(t, named("a")))
	only := func(header string) string {
		return `headers { name: "` + header + `" present_match: true } abort { http_status: 418 percentage { numerator: 100 } }`
	}
	w.filtered(filter("fault.v3.HTTPFault", only("x-fail")), `virtual_hosts { name: "h" domains: "svc" routes { match { prefix: "/known" } route { cluster: "c" } %s } }`,
		override("fault.v3.HTTPFault", only("x-other")))
	rt := w.transport()
	fail := func(r *http.Request) { r.Header.Set("X-Fail", "1") }
	if body, err := get(t, rt, "http://svc/unknown", fail); err != nil || body != "fault filter abort" {
		t.Errorf("a request without a route that the filter ends: %q, %v", body, err)
	}
	if body, err := get(t, rt, "http://svc/known", fail); err != nil || body != "a HTTP/1.1" {
		t.Errorf("a request whose route has an override: %q, %v", body, err)
	}
	var e *httpxds.Error
	if body, err := get(t, rt, "http://svc/unknown"); !errors.As(err, &e) || e.Reason != httpxds.NoRoute {
		t.Errorf("a request without a route: %q, %v; want NoRoute", body, err)
	}
}

// A clientFilter is a filter of a client that records its lifetimes. Its configuration is a text that says what it does.
type clientFilter struct{ instances, ended, interceptors, closed atomic.Int64 }

func (f *clientFilter) filter() *httpfilter.Filter {
	parse := func(_ *resource.DecodeContext, c resource.TypedConfig) (any, error) {
		m := new(wrapperspb.StringValue)
		return m, c.Unmarshal(m)
	}
	return &httpfilter.Filter{
		HTTPFilter: &resource.HTTPFilter{Config: "google.protobuf.StringValue", Sides: resource.ClientSide, Parse: parse},
		NewClient: func(h httpfilter.Host) (httpfilter.ClientInstance, error) {
			f.instances.Add(1)
			if h.Target != "xds:///svc" || h.Name != "own" || h.Logger == nil {
				return nil, fmt.Errorf("the host is %+v", h)
			}
			return f, nil
		},
	}
}

// Close implements [httpfilter.ClientInstance].
func (f *clientFilter) Close() { f.ended.Add(1) }

// Interceptor implements [httpfilter.ClientInstance].
func (f *clientFilter) Interceptor(u httpfilter.Use) (httpfilter.ClientInterceptor, error) {
	text := u.Config.(*wrapperspb.StringValue).GetValue()
	if text == "bad" {
		return nil, errors.New("bad configuration")
	}
	f.interceptors.Add(1)
	return clientInterceptor{f, text}, nil
}

type clientInterceptor struct {
	*clientFilter
	text string
}

// Close implements [io.Closer].
func (i clientInterceptor) Close() error {
	i.closed.Add(1)
	return nil
}

var errFilter = errors.New("error of the filter")

// Wrap implements [httpfilter.ClientInterceptor].
func (i clientInterceptor) Wrap(next http.RoundTripper) http.RoundTripper {
	return httpfilter.RoundTrip(func(r *http.Request) (*http.Response, error) {
		switch i.text {
		case "error":
			return nil, errFilter
		case "nothing":
			return nil, nil //nolint:nilnil // a filter with a defect
		case "context":
			return next.RoundTrip(r.WithContext(context.Background())) //nolint:contextcheck // a filter with a defect
		case "twice":
			resp, err := next.RoundTrip(r)
			if err != nil {
				return nil, err
			}
			_ = resp.Body.Close()
		}
		resp, err := next.RoundTrip(r)
		if err == nil {
			resp.Header.Set("X-Filter", i.text+" "+httpfilter.ClusterOf(r.Context()))
		}
		return resp, err
	})
}

// A program's filter wraps requests. Its instance survives updates, and its interceptors end after the last body of their
// configuration.
func TestClientFilter(t *testing.T) {
	w := newWorld(t)
	var f clientFilter
	w.env = w.plane.Env(xdsforge.WithTypes(httpxds.Register, func(r xdsforge.Registrar) { r.Extend(f.filter()) }))
	var requests atomic.Int64
	w.cluster("c", "", serve(t, func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		_, _ = io.WriteString(w, "body")
	}))
	listen := func(text string) {
		t.Helper()
		w.filtered(fmt.Sprintf(` http_filters { name: "own" typed_config { [type.googleapis.com/google.protobuf.StringValue] { value: %q } } }`, text),
			`virtual_hosts { name: "h" domains: "svc" %s }`, to("c"))
	}
	listen("one")
	rt := w.transport()
	r, err := http.NewRequestWithContext(soon(t), http.MethodGet, "http://svc/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	held, err := rt.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	if got := held.Header.Get("X-Filter"); got != "one c" || held.Request != r {
		t.Errorf("the filter has set %q, and the request of the response is %p; want %p", got, held.Request, r)
	}
	listen("two")
	until(t, func() (bool, string) {
		got, _ := headerOf(t, rt, "http://svc/", "X-Filter")
		return got == "two c", got
	})
	if n := [...]int64{f.instances.Load(), f.interceptors.Load(), f.closed.Load()}; n != [...]int64{1, 2, 0} {
		t.Errorf("instances, interceptors and closed interceptors are %d; want 1, 2, 0 while a body of the first configuration is open", n)
	}
	if _, err := io.Copy(io.Discard, held.Body); err != nil {
		t.Error(err)
	}
	_ = held.Body.Close()
	if n := f.closed.Load(); n != 1 {
		t.Errorf("%d interceptors are closed after the last body of the first configuration; want 1", n)
	}
	for _, tt := range [][2]string{
		{"error", "error of the filter"}, {"nothing", "neither a response nor an error"}, {"context", "replaced the context"}, {"bad", "bad configuration"},
	} {
		text := tt[0]
		want := httpxds.Filtered
		if text == "bad" {
			want = httpxds.NoRoute
		}
		listen(text)
		body := closing{strings.NewReader("x"), make(chan struct{})}
		until(t, func() (bool, string) {
			body.closed = make(chan struct{})
			r, err := http.NewRequestWithContext(soon(t), http.MethodPost, "http://svc/", body)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := rt.RoundTrip(r)
			if err == nil {
				_ = resp.Body.Close()
			}
			var e *httpxds.Error
			return errors.As(err, &e) && e.Reason == want && strings.Contains(err.Error(), tt[1]), fmt.Sprint(text, err)
		})
		select {
		case <-body.closed:
		default:
			t.Errorf("%s: the body of a request that was not sent is open", text)
		}
	}
	listen("twice")
	until(t, func() (bool, string) {
		got, body := headerOf(t, rt, "http://svc/", "X-Filter")
		return got == "twice c", got + body
	})
	before := requests.Load()
	if _, body := headerOf(t, rt, "http://svc/", "X-Filter"); body != "body" || requests.Load() != before+2 {
		t.Errorf("a filter that sends twice: %q with %d requests; want 2", body, requests.Load()-before)
	}
	if err := rt.Close(); err != nil {
		t.Error(err)
	}
	if f.instances.Load() != f.ended.Load() || f.interceptors.Load() != f.closed.Load() {
		t.Errorf("%d of %d instances and %d of %d interceptors have ended", f.ended.Load(), f.instances.Load(), f.closed.Load(), f.interceptors.Load())
	}
}

// A request with a filter may continue after the headers of its response.
func TestClientFilterOfAStream(t *testing.T) {
	w := newWorld(t)
	w.cluster("c", "", serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		_, _ = io.Copy(w, r.Body)
	}))
	w.filtered(filter("header_mutation.v3.HeaderMutation", adding("a")), `virtual_hosts { name: "h" domains: "svc" %s }`, to("c"))
	rt := w.transport(httpxds.WithProtocol(httpxds.HTTP2))
	body, in := io.Pipe()
	r, err := http.NewRequestWithContext(soon(t), http.MethodPost, "http://svc/", body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := rt.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, err = io.WriteString(in, "late")
	_ = in.Close()
	if got, readErr := io.ReadAll(resp.Body); err != nil || readErr != nil || string(got) != "late" {
		t.Errorf("the stream has %q, %v, %v; want the part after the headers", got, err, readErr)
	}
}
