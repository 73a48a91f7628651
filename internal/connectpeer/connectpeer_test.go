package connectpeer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"                     // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3" // for prototext
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/httpxds"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
	"github.com/xdsforge/xdsforge/xdstest"
)

// text is the message of all methods.
type text = wrapperspb.StringValue

// handler has an echo of each kind. Unary calls with the text "busy" fail at first.
func handler(attempts *atomic.Int64) http.Handler {
	mux := http.NewServeMux()
	unary := func(_ context.Context, r *connect.Request[text]) (*connect.Response[text], error) {
		if r.Msg.GetValue() == "busy" && attempts.Add(1) == 1 {
			return nil, connect.NewError(connect.CodeUnavailable, errors.New("busy"))
		}
		return connect.NewResponse(wrapperspb.String(r.HTTPMethod() + " " + r.Msg.GetValue())), nil
	}
	mux.Handle("/p.S/Unary", connect.NewUnaryHandler("/p.S/Unary", unary, connect.WithIdempotency(connect.IdempotencyNoSideEffects)))
	mux.Handle("/p.S/Server", connect.NewServerStreamHandler("/p.S/Server", func(_ context.Context, r *connect.Request[text], s *connect.ServerStream[text]) error {
		for range 3 {
			if err := s.Send(r.Msg); err != nil {
				return err
			}
		}
		return nil
	}))
	mux.Handle("/p.S/Bidi", connect.NewBidiStreamHandler("/p.S/Bidi", func(_ context.Context, s *connect.BidiStream[text, text]) error {
		for {
			m, err := s.Receive()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if err := s.Send(m); err != nil {
				return err
			}
		}
	}))
	return mux
}

func set(t *testing.T, plane *xdstest.ControlPlane, m proto.Message, format string, args ...any) {
	t.Helper()
	if err := prototext.Unmarshal(fmt.Appendf(nil, format, args...), m); err != nil {
		t.Fatal(err)
	}
	plane.Set(m)
}

// client returns an http.Client for a target with one endpoint, whose route retries the code unavailable.
func client(t *testing.T, h http.Handler, protocol httpxds.Protocol) *http.Client {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	plane := xdstest.Start(t, listener.Type(), route.Type(), cluster.Type(), endpoint.Type())
	set(t, plane, new(listenerv3.Listener), `name: "svc" api_listener { api_listener {
		[type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] {
		route_config { virtual_hosts { name: "h" domains: "svc" routes { match { prefix: "/" } route { cluster: "c"
			retry_policy { retry_on: "unavailable" retry_back_off { base_interval { nanos: 1000000 } } } } } } }
		http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } } } } }`)
	set(t, plane, new(clusterv3.Cluster), `name: "c" type: EDS eds_cluster_config { eds_config { ads {} } }`)
	set(t, plane, new(endpointv3.ClusterLoadAssignment), `cluster_name: "c" endpoints { locality {} load_balancing_weight { value: 1 }
		lb_endpoints { endpoint { address { socket_address { address: "127.0.0.1" port_value: %d } } } } }`, s.Listener.Addr().(*net.TCPAddr).Port)
	transport, err := httpxds.NewTransport("xds:///svc", httpxds.WithEnv(plane.Env(xdsforge.WithTypes(httpxds.Register))), httpxds.WithProtocol(protocol))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = transport.Close() })
	return &http.Client{Transport: transport}
}

func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// TestUnary expects unary calls by POST and GET in the protocols of Connect, gRPC and gRPC-Web, and retries by their codes. A
// handler of Connect sends the code of gRPC in trailers, which end a response that has begun, so it is not retried.
func TestUnary(t *testing.T) {
	for name, tt := range map[string]struct {
		protocol httpxds.Protocol
		options  []connect.ClientOption
		method   string
	}{
		"Connect by HTTP/1.1": {httpxds.HTTP1, nil, "POST"},
		"Connect by HTTP/2":   {httpxds.HTTP2, nil, "POST"},
		"GET":                 {httpxds.HTTP1, []connect.ClientOption{connect.WithHTTPGet(), connect.WithIdempotency(connect.IdempotencyNoSideEffects)}, "GET"},
		"gRPC":                {httpxds.HTTP2, []connect.ClientOption{connect.WithGRPC()}, "POST"},
		"gRPC-Web":            {httpxds.HTTP1, []connect.ClientOption{connect.WithGRPCWeb()}, "POST"},
	} {
		t.Run(name, func(t *testing.T) {
			var attempts atomic.Int64
			c := connect.NewClient[text, text](client(t, handler(&attempts), tt.protocol), "http://svc/p.S/Unary", tt.options...)
			for _, s := range []string{"quiet", "busy"} {
				resp, err := c.CallUnary(soon(t), connect.NewRequest(wrapperspb.String(s)))
				if name == "gRPC" && s == "busy" {
					if connect.CodeOf(err) != connect.CodeUnavailable || attempts.Load() != 1 {
						t.Errorf("%s: %v after %d attempts, want the first error", s, err, attempts.Load())
					}
					return
				}
				if err != nil {
					t.Errorf("%s: %v", s, err)
					continue
				}
				if want := tt.method + " " + s; resp.Msg.GetValue() != want {
					t.Errorf("%q, want %q", resp.Msg.GetValue(), want)
				}
			}
			if n := attempts.Load(); n != 2 {
				t.Errorf("%d attempts of the busy call, want 2", n)
			}
		})
	}
}

// TestStreams expects streams of a server, and in both directions.
func TestStreams(t *testing.T) {
	h := client(t, handler(new(atomic.Int64)), httpxds.HTTP2)
	s, err := connect.NewClient[text, text](h, "http://svc/p.S/Server").CallServerStream(soon(t), connect.NewRequest(wrapperspb.String("x")))
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for s.Receive() {
		got.WriteString(s.Msg().GetValue())
	}
	if err := errors.Join(s.Err(), s.Close()); err != nil || got.String() != "xxx" {
		t.Errorf("the server's stream has %q, %v", got.String(), err)
	}
	b := connect.NewClient[text, text](h, "http://svc/p.S/Bidi").CallBidiStream(soon(t))
	for _, word := range []string{"a", "b"} {
		if err := b.Send(wrapperspb.String(word)); err != nil {
			t.Fatal(err)
		}
		if m, err := b.Receive(); err != nil || m.GetValue() != word {
			t.Errorf("%q was answered by %v, %v", word, m, err)
		}
	}
	if err := errors.Join(b.CloseRequest(), b.CloseResponse()); err != nil {
		t.Error(err)
	}
}
