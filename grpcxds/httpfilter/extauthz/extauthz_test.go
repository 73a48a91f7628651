package extauthz_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/framework/grpcservice"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter/extauthz"
	"github.com/xdsforge/xdsforge/internal/fakeauthz"
)

// sides are both sides of calls.
func sides(w *world) map[string]func(context.Context, any, exchange) result {
	return map[string]func(context.Context, any, exchange) result{"client": w.client, "server": w.server}
}

// respond makes the authorization server answer always the same.
func (w *world) respond(m *authv3.CheckResponse, err error) {
	w.Decide(func(context.Context, *authv3.CheckRequest) (*authv3.CheckResponse, error) { return m, err })
}

const failureHeader = "x-envoy-auth-failure-mode-allowed"

// A share of the calls is checked. The others pass, or are denied with the status of errors.
func TestFilterEnabled(t *testing.T) {
	w := newWorld(t)
	w.respond(fakeauthz.Deny(0, ""), nil)
	const none = `, "filter_enabled": {"default_value": {}}`
	for more, want := range map[string]codes.Code{
		"":   codes.PermissionDenied,
		none: codes.OK,
		none + `, "deny_at_disable": {"default_value": true}`:                                                               codes.PermissionDenied,
		none + `, "deny_at_disable": {"default_value": true}, "status_on_error": {"code": "ServiceUnavailable"}`:            codes.Unavailable,
		none + `, "deny_at_disable": {"default_value": true}, "failure_mode_allow": true, "status_on_error": {"code": 401}`: codes.Unauthenticated,
	} {
		for side, call := range sides(w) {
			before := w.Checks.Load()
			got := call(t.Context(), w.parse(more), exchange{})
			checked := w.Checks.Load() != before
			if status.Code(got.err) != want || checked != (more == "") || (got.request != nil) != (want == codes.OK) {
				t.Errorf("%s %s: %v, checked %t, begun %t; want %v", side, more, got.err, checked, got.request != nil, want)
			}
		}
	}
	half := w.parse(`, "filter_enabled": {"default_value": {"numerator": 50}}`)
	before := w.Checks.Load()
	const calls = 400
	for range calls / 2 {
		w.client(t.Context(), half, exchange{})
		w.server(t.Context(), half, exchange{})
	}
	if n := w.Checks.Load() - before; n < calls/4 || n > calls*3/4 {
		t.Errorf("%d of %d calls are checked; want about half", n, calls)
	}
}

// A failed check denies the call with the status of errors, or allows it. A response that denies the call, and one above the limit,
// allow no call, because the caller may have caused their faults.
func TestFailureModes(t *testing.T) {
	w := newWorld(t)
	invalid := fakeauthz.Allow(&authv3.OkHttpResponse{
		Headers:         []*corev3.HeaderValueOption{fakeauthz.Header("x-ok", "1", 0), fakeauthz.Header("host", "evil", 0)},
		HeadersToRemove: []string{"x-a"},
	})
	for name, answer := range map[string]struct {
		m      *authv3.CheckResponse
		err    error
		denies bool
	}{
		"an error":                     {nil, status.Error(codes.Unauthenticated, "line\nbreak"), false},
		"an invalid response":          {invalid, nil, false},
		"an exhausted resource":        {nil, status.Error(codes.ResourceExhausted, "message larger than max"), true},
		"an invalid denied one":        {fakeauthz.Deny(404, "", fakeauthz.Header("grpc-status", "0", 0)), nil, true},
		"a response that is too large": {fakeauthz.Deny(404, strings.Repeat("x", 1<<20)), nil, true},
	} {
		w.respond(answer.m, answer.err)
		for side, call := range sides(w) {
			for more, want := range map[string]codes.Code{
				"": codes.PermissionDenied,
				`, "status_on_error": {"code": "ServiceUnavailable"}`: codes.Unavailable,
			} {
				got := call(t.Context(), w.parse(more), exchange{request: metadata.Pairs("x-a", "1")})
				if status.Code(got.err) != want || got.request != nil || strings.Contains(got.err.Error(), "\n") {
					t.Errorf("%s, %s %s: %v, begun %t; want %v", name, side, more, got.err, got.request != nil, want)
				}
			}
			for more, want := range map[string]string{"": "", `, "failure_mode_allow_header_add": true`: "true"} {
				got := call(t.Context(), w.parse(`, "failure_mode_allow": true`+more), exchange{request: metadata.Pairs("x-a", "1", failureHeader, "forged")})
				if want == "" {
					want = "forged"
				}
				if answer.denies {
					if status.Code(got.err) != codes.PermissionDenied || got.request != nil {
						t.Errorf("%s, %s %s: %v, begun %t; want PERMISSION_DENIED", name, side, more, got.err, got.request != nil)
					}
					continue
				}
				if got.err != nil || values(got.request, "x-a") != "1" || values(got.request, "x-ok") != "" || values(got.request, failureHeader) != want {
					t.Errorf("%s, %s %s: %v, %v; want no change but %s = %q", name, side, more, got.err, got.request, failureHeader, want)
				}
			}
		}
	}
}

// A change against the rules is ignored, or fails the call in all failure modes.
func TestDisallowedChanges(t *testing.T) {
	w := newWorld(t)
	w.respond(fakeauthz.Allow(&authv3.OkHttpResponse{
		Headers:         []*corev3.HeaderValueOption{fakeauthz.Header("x-no", "2", 0), fakeauthz.Header("x-ok", "2", 0)},
		HeadersToRemove: []string{"x-no"},
	}), nil)
	const rules = `, "failure_mode_allow": true, "decoder_header_mutation_rules": {"allow_expression": {"regex": "x-ok"}`
	for side, call := range sides(w) {
		x := exchange{request: metadata.Pairs("x-no", "1", "x-ok", "1")}
		got := call(t.Context(), w.parse(rules+`}`), x)
		if got.err != nil || values(got.request, "x-no") != "1" || values(got.request, "x-ok") != "1,2" {
			t.Errorf("%s: %v, %v; want only a change of x-ok", side, got.err, got.request)
		}
		got = call(t.Context(), w.parse(rules+`, "disallow_is_error": true}`), x)
		if status.Code(got.err) != codes.PermissionDenied || got.request != nil || !strings.Contains(got.err.Error(), "x-no") {
			t.Errorf("%s, disallow_is_error: %v, begun %t; want PERMISSION_DENIED with the header", side, got.err, got.request != nil)
		}
	}
}

// A denied call has the status and the trailers of the response.
func TestDenied(t *testing.T) {
	w := newWorld(t)
	for _, tt := range []struct {
		m       *authv3.CheckResponse
		code    codes.Code
		trailer string
	}{
		{fakeauthz.Deny(0, "no\x00body"), codes.PermissionDenied, ""},
		{fakeauthz.Deny(401, "nobody"), codes.Unauthenticated, ""},
		{fakeauthz.Deny(404, "nobody", fakeauthz.Header("x-a", "1", 0), fakeauthz.Header("x-a", "2", 0)), codes.Unimplemented, "1,2"},
		{fakeauthz.Deny(200, "nobody"), codes.Unknown, ""},
		{fakeauthz.Deny(503, "nobody", fakeauthz.Header("x-a", "1", corev3.HeaderValueOption_OVERWRITE_IF_EXISTS)), codes.Unavailable, ""},
	} {
		w.respond(tt.m, nil)
		for side, call := range sides(w) {
			for _, more := range []string{"", `, "failure_mode_allow": true`} {
				got := call(t.Context(), w.parse(more), exchange{header: metadata.Pairs("x-a", "never")})
				if status.Code(got.err) != tt.code || !strings.Contains(got.err.Error(), "denies the call: no") || strings.Contains(got.err.Error(), "\x00") {
					t.Errorf("%v, %s: %v; want %v with the text", tt.m, side, got.err, tt.code)
				}
				if got.request != nil || values(got.trailer, "x-a") != tt.trailer || got.header != nil {
					t.Errorf("%v, %s: begun %t, header %v, trailer %v; want only the trailer %q", tt.m, side, got.request != nil, got.header, got.trailer, tt.trailer)
				}
			}
		}
	}
}

// An allowed call has the changes of the response. Later filters see them, too.
func TestChanges(t *testing.T) {
	w := newWorld(t)
	set := corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD
	w.respond(fakeauthz.Allow(&authv3.OkHttpResponse{
		Headers:              []*corev3.HeaderValueOption{fakeauthz.Header("x-user", "bob", set), fakeauthz.Header("x-bin", "\x00", 0)},
		HeadersToRemove:      []string{"x-secret", "x-absent"},
		ResponseHeadersToAdd: []*corev3.HeaderValueOption{fakeauthz.Header("x-a", "new", set), fakeauthz.Header("x-b", "new", 0)},
	}), nil)
	for side, call := range sides(w) {
		request := metadata.Pairs("x-user", "mallory", "x-secret", "s", "x-other", "o")
		header := metadata.Pairs("x-a", "old", "x-a", "older", "x-b", "old")
		got := call(t.Context(), w.parse(""), exchange{request: request, header: header})
		want := metadata.Pairs("x-user", "bob", "x-other", "o", "x-bin", "\x00")
		if got.err != nil || !reflect.DeepEqual(got.request, want) || !reflect.DeepEqual(got.metadataOfFilters, want) {
			t.Errorf("%s: %v, request %v, of later filters %v; want %s", side, got.err, got.request, got.metadataOfFilters, want)
		}
		if values(got.header, "x-a") != "new" || values(got.header, "x-b") != "old,new" {
			t.Errorf("%s: the header is %v; want x-a = new and x-b = old, new", side, got.header)
		}
		if values(request, "x-user") != "mallory" || values(header, "x-a") != "old,older" {
			t.Errorf("%s: the metadata of the program changes: %v, %v", side, request, header)
		}
		// Without headers, the response has only trailers.
		failed := status.Error(codes.Aborted, "failed")
		if got := call(t.Context(), w.parse(""), exchange{err: failed}); len(got.header) != 0 || !errors.Is(got.err, failed) {
			t.Errorf("%s, only trailers: header %v, %v; want no header and the status", side, got.header, got.err)
		}
		if got := call(t.Context(), w.parse(""), exchange{header: metadata.Pairs("x-a", "old"), err: failed}); values(got.header, "x-a") != "new" {
			t.Errorf("%s, headers and an error: header %v; want x-a = new", side, got.header)
		}
	}
	w.respond(fakeauthz.Allow(nil), nil)
	for side, call := range sides(w) {
		got := call(t.Context(), w.parse(""), exchange{header: metadata.Pairs("x-a", "old")})
		if got.err != nil || values(got.header, "x-a") != "old" {
			t.Errorf("%s, no changes: %v, header %v; want x-a = old", side, got.err, got.header)
		}
	}
}

// A handler that sends its headers itself gets an error for those that come too late.
func TestSentHeaders(t *testing.T) {
	w := newWorld(t)
	w.respond(fakeauthz.Allow(&authv3.OkHttpResponse{ResponseHeadersToAdd: []*corev3.HeaderValueOption{fakeauthz.Header("x-a", "new", 0)}}), nil)
	instance, err := extauthz.Filter().NewServer(w.host())
	if err != nil {
		t.Fatal(err)
	}
	defer instance.Close()
	i, err := instance.Interceptor(w.parse(""), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = i.(interface{ Close() error }).Close() }()
	outer := new(serverStream)
	err = i.Handle(t.Context(), new(httpfilter.ServerCall), outer, func(_ context.Context, ss grpc.ServerStream) error {
		if err := errors.Join(ss.SetHeader(metadata.Pairs("x-a", "1")), ss.SendHeader(metadata.Pairs("x-a", "2"))); err != nil {
			return err
		}
		if ss.SetHeader(metadata.Pairs("x-a", "3")) == nil || ss.SendHeader(nil) == nil {
			t.Error("headers after SendHeader: no error")
		}
		return ss.SendMsg(nil)
	})
	if err != nil || values(outer.header, "x-a") != "1,2,new" {
		t.Errorf("%v, header %v; want x-a = 1, 2, new", err, outer.header)
	}
}

// The end of a call ends its check, in all failure modes.
func TestCallEndsDuringCheck(t *testing.T) {
	w := newWorld(t)
	for side, call := range sides(w) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		w.Decide(func(check context.Context, _ *authv3.CheckRequest) (*authv3.CheckResponse, error) {
			cancel()
			<-check.Done()
			close(ended)
			return nil, check.Err()
		})
		if got := call(ctx, w.parse(`, "failure_mode_allow": true`), exchange{}); status.Code(got.err) != codes.Canceled || got.request != nil {
			t.Errorf("%s: %v, begun %t; want CANCELED", side, got.err, got.request != nil)
		}
		<-ended
	}
}

// The results of calls are counted, on channels with labels.
func TestMetrics(t *testing.T) {
	w := newWorld(t)
	reader := metric.NewManualReader()
	w.meter = metric.NewMeterProvider(metric.WithReader(reader)).Meter("test")
	for range 2 {
		for _, call := range sides(w) {
			w.respond(fakeauthz.Allow(nil), nil)
			call(t.Context(), w.parse(""), exchange{})
			w.respond(fakeauthz.Deny(0, ""), nil)
			call(t.Context(), w.parse(""), exchange{})
			w.respond(nil, status.Error(codes.Internal, ""))
			call(t.Context(), w.parse(""), exchange{})
			call(t.Context(), w.parse(`, "filter_enabled": {"default_value": {}}`), exchange{})
		}
	}
	var data metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &data); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, m := range data.ScopeMetrics[0].Metrics {
		for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
			got[m.Name] += fmt.Sprint(p.Value, m.Unit, p.Attributes.Encoded(attribute.DefaultEncoder()))
		}
	}
	for _, result := range []string{"allowed_rpcs", "denied_rpcs", "failed_rpcs", "filter_disabled_rpcs"} {
		for side, labels := range map[string]string{"client": "grpc.lb.backend_service=c,grpc.target=xds:///shop", "server": ""} {
			name := "grpc." + side + "_ext_authz." + result
			if want := "2{RPCs}" + labels; got[name] != want {
				t.Errorf("%s = %q; want %q", name, got[name], want)
			}
		}
	}
	if len(got) != 8 {
		t.Errorf("%d counters; want 8: %v", len(got), got)
	}
}

// A configuration that cannot be used is an error. Close releases the channel.
func TestInterceptorFails(t *testing.T) {
	w := newWorld(t)
	h := w.host()
	client, err := extauthz.Filter().NewClient(h)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Interceptor("text", nil); err == nil {
		t.Error("a configuration of another filter: no error")
	}
	var opened atomic.Int64
	h.Channel = func(*grpcservice.Service) (grpc.ClientConnInterface, func(), error) {
		opened.Add(1)
		return nil, nil, errors.New("refused")
	}
	server, err := extauthz.Filter().NewServer(h)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.Interceptor(w.parse(""), nil); err == nil || !strings.Contains(err.Error(), "refused") || opened.Load() != 1 {
		t.Errorf("a service without a channel: %v; want the reason", err)
	}
	w.client(t.Context(), w.parse(""), exchange{})
	if w.released != 1 {
		t.Errorf("%d releases of the channel; want 1", w.released)
	}
}
