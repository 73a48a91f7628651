package grpcxds_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
)

// A tagger is an HTTP filter that sends the text of its configuration, a StringValue, as a header.
type tagger struct{ created, closed atomic.Int64 }

func (f *tagger) register(r xdsforge.Registrar) {
	r.Extend(&httpfilter.Filter{
		HTTPFilter: &resource.HTTPFilter{
			Config: "google.protobuf.StringValue", Override: "google.protobuf.StringValue", Sides: resource.ClientSide,
			Parse: textOf, ParseOverride: textOf,
		},
		NewClient: func(httpfilter.Host) (httpfilter.ClientInstance, error) {
			f.created.Add(1)
			return f, nil
		},
	})
}

func textOf(_ *resource.DecodeContext, c resource.TypedConfig) (any, error) {
	var v wrapperspb.StringValue
	err := c.Unmarshal(&v)
	return v.GetValue(), err
}

// Interceptor implements [httpfilter.ClientInstance].
func (f *tagger) Interceptor(config, override any) (httpfilter.ClientInterceptor, error) {
	if override != nil {
		config = override
	}
	tag, _ := config.(string)
	return httpfilter.ClientBefore(func(ctx context.Context, c *httpfilter.ClientCall) (context.Context, error) {
		md := c.Metadata.Copy()
		md.Append("x-tag", tag)
		return c.SetMetadata(ctx, md), nil
	}), nil
}

// Close implements [httpfilter.ClientInstance].
func (f *tagger) Close() { f.closed.Add(1) }

// extend sets a resource with the configuration of an HTTP filter.
func (p *plane) extend(name, config string) {
	p.Helper()
	p.set(name, new(corev3.TypedExtensionConfig), `name: %q typed_config { %s }`, name, config)
}

// tag is the configuration of a tagger.
func tag(text string) string {
	return fmt.Sprintf(`[type.googleapis.com/google.protobuf.StringValue] { value: %q }`, text)
}

// discovered is a filter whose configuration is a separate resource.
func discovered(name string) string {
	return fmt.Sprintf(`http_filters { name: %q config_discovery { config_source { ads { } } type_urls: "x" } } `, name)
}

// A channel reads the configuration of an HTTP filter from a resource with the name of the filter. Calls wait for it. Routes
// override it by its name. The control plane may change even the type of the filter (A104).
func TestExtensions(t *testing.T) {
	var f tagger
	p := newPlane(t)
	p.cluster("c", "e", headersOf(t, "x-tag"))
	p.listener("svc", discovered("tag")+`route_config { name: "r" virtual_hosts { name: "h" domains: "*"
		routes { match { prefix: "/p.S/Own" } route { cluster: "c" } typed_per_filter_config { key: "tag" value { `+tag("own")+` } } }
		routes { match { prefix: "/p.S/Off" } route { cluster: "c" } typed_per_filter_config { key: "tag" value {
			[type.googleapis.com/envoy.config.route.v3.FilterConfig] { disabled: true } } } } `+to("c")+` } }`)
	env := newEnv(t, fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s]}`, p.entry()), xdsforge.WithTypes(f.register))
	cc := newChannel(t, env, "xds:///svc")
	waiting := make(chan string, 1)
	go func() {
		got, err := call(soon(t), cc, "/p.S/M")
		waiting <- fmt.Sprint(got, " ", err)
	}()
	p.extend("tag", tag("one"))
	if got := <-waiting; got != "one <nil>" {
		t.Errorf("a call that waited for the configuration: %s; want one", got)
	}
	for method, want := range map[string]string{"/p.S/M": "one", "/p.S/Own": "own", "/p.S/Off": ""} {
		if got, err := call(soon(t), cc, method); got != want || err != nil {
			t.Errorf("%s: the tag %q, %v; want %q", method, got, err, want)
		}
	}
	targets, err := env.Targets(soon(t))
	if err != nil || len(targets) != 1 || len(targets[0].Extensions) != 1 || targets[0].Extensions[0] != "tag" {
		t.Errorf("the channel is described as %v, %v; want the configuration of its filter", targets, err)
	}
	p.extend("tag", tag("two"))
	until(t, cc, "two")
	if n := f.created.Load(); n != 1 {
		t.Errorf("the channel has created %d instances of the filter; want 1 for both configurations", n)
	}
	p.listener("svc", discovered("tag")+`route_config { name: "r" `+hosts("*", to("c"))+`}`)
	p.extend("tag", abort)
	ctx := soon(t)
	for {
		if _, err := call(ctx, cc, "/p.S/M"); status.Code(err) == codes.Aborted {
			break
		} else if ctx.Err() != nil {
			t.Fatalf("the filter never becomes a fault filter; the last call ended with %v", err)
		}
	}
	_ = cc.Close()
	if created, closed := f.created.Load(), f.closed.Load(); created != closed {
		t.Errorf("the channel has created %d instances and closed %d", created, closed)
	}
}

// The control plane receives a NACK for a configuration that no channel can use. The channel keeps the last one (A88, A104).
func TestRejectedExtension(t *testing.T) {
	p := newPlane(t)
	p.cluster("c", "e", newBackend(t, "b"))
	p.listener("svc", discovered("f")+`route_config { name: "r" `+hosts("*", to("c"))+`}`)
	p.extend("f", abort)
	env := newEnv(t, fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s]}`, p.entry()))
	cc := newChannel(t, env, "xds:///svc")
	if _, err := call(soon(t), cc, "/p.S/M"); status.Code(err) != codes.Aborted {
		t.Fatalf("a call with the filter: %v; want ABORTED", err)
	}
	p.extend("f", `[type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] { }`)
	nack, err := p.AwaitRequest(soon(t), func(r *discoveryv3.DiscoveryRequest) bool {
		return strings.HasSuffix(r.GetTypeUrl(), extensionType) && r.GetErrorDetail() != nil
	})
	if err != nil || !strings.Contains(nack.GetErrorDetail().GetMessage(), "must not be of a terminal filter") {
		t.Errorf("the NACK is %v, %v; want the rule", nack, err)
	}
	if _, err := call(soon(t), cc, "/p.S/M"); status.Code(err) != codes.Aborted {
		t.Errorf("a call after the rejected update: %v; want ABORTED", err)
	}
}

// No call fails or misses the filter while 10,000 updates replace its configuration, and nothing is left at the end (A104).
func TestExtensionsUnderUpdates(t *testing.T) {
	var f tagger
	p := newPlane(t)
	p.cluster("c", "e", headersOf(t, "x-tag"))
	for _, name := range []string{"one", "two"} {
		p.listener(name, discovered("tag")+`route_config { name: "r" `+hosts("*", to("c"))+`}`)
	}
	p.extend("tag", tag("0"))
	env := newEnv(t, fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s]}`, p.entry()), xdsforge.WithTypes(f.register))
	one, two := newChannel(t, env, "xds:///one"), newChannel(t, env, "xds:///two")
	until(t, one, "0")
	until(t, two, "0")
	ctx := soon(t)
	var callers sync.WaitGroup
	done := make(chan struct{})
	for i := range 4 {
		callers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				cc := one
				if i%2 == 1 {
					cc = two
				}
				if got, err := call(ctx, cc, "/p.S/M"); got == "" || err != nil {
					t.Errorf("a call during updates: the tag %q, %v; want a tag", got, err)
					return
				}
			}
		})
	}
	const updates = 10_000
	for i := range updates {
		p.extend("tag", tag(fmt.Sprint(i+1)))
	}
	close(done)
	callers.Wait()
	until(t, one, fmt.Sprint(updates))
	until(t, two, fmt.Sprint(updates))
	if n := f.created.Load(); n != 2 {
		t.Errorf("%d instances for 2 channels; want one for each, for all updates", n)
	}
	_, _ = one.Close(), two.Close()
	if n := f.closed.Load(); n != 2 {
		t.Errorf("%d of 2 instances are closed with their channels", n)
	}
}
