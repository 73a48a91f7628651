package builtin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/httpxds/httpfilter"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/localratelimit"
)

// A bucket gets its tokens at the end of each interval, up to its maximum.
func TestBucket(t *testing.T) {
	start := time.Unix(1000, 0)
	b := &bucket{config: localratelimit.Bucket{Max: 3, PerFill: 2, Interval: time.Second}, tokens: 1, filled: start}
	for _, step := range []struct {
		after time.Duration
		ok    bool
		wait  time.Duration
	}{
		{0, true, 0},
		{300 * time.Millisecond, false, 700 * time.Millisecond},
		{time.Second, true, 0},
		{time.Second, true, 0},
		{1999 * time.Millisecond, false, time.Millisecond},
		{24 * time.Hour, true, 0},
		{24 * time.Hour, true, 0},
		{24 * time.Hour, true, 0},
		{24 * time.Hour, false, time.Second},
	} {
		if wait, ok := b.take(start.Add(step.after)); ok != step.ok || wait != step.wait {
			t.Errorf("after %v: %t, %v; want %t, %v", step.after, ok, wait, step.ok, step.wait)
		}
	}
	b.tokens = 3
	b.set(localratelimit.Bucket{Max: 2, PerFill: 1, Interval: time.Hour})
	if b.tokens != 2 {
		t.Errorf("a smaller bucket has %d tokens; want its maximum of 2", b.tokens)
	}
}

// A bucket ends with its last interceptor.
func TestBucketsEnd(t *testing.T) {
	instance, err := rateLimit().NewServer(httpfilter.Host{})
	if err != nil {
		t.Fatal(err)
	}
	l := instance.(*limits)
	config := localratelimit.Config{Bucket: &localratelimit.Bucket{Max: 1, PerFill: 1, Interval: time.Hour}, Enabled: 1_000_000}
	first, err := l.Interceptor(httpfilter.Use{Config: config, Scope: "s"})
	if err != nil {
		t.Fatal(err)
	}
	second, err := l.Interceptor(httpfilter.Use{Config: config, Scope: "s"})
	if err != nil || first.(*limit).bucket != second.(*limit).bucket {
		t.Errorf("two interceptors of a scope have different buckets, %v", err)
	}
	_ = first.(*limit).Close()
	if len(l.buckets) != 1 {
		t.Errorf("%d buckets while one interceptor is open; want 1", len(l.buckets))
	}
	_ = second.(*limit).Close()
	if len(l.buckets) != 0 {
		t.Errorf("%d buckets after the last interceptor; want 0", len(l.buckets))
	}
}

// Canceled requests spend tokens, and nothing in a request gives one back: not its size, its headers or its connection.
func TestRequestsSpendTokens(t *testing.T) {
	instance, err := rateLimit().NewServer(httpfilter.Host{})
	if err != nil {
		t.Fatal(err)
	}
	config := localratelimit.Config{
		Bucket: &localratelimit.Bucket{Max: 2, PerFill: 1, Interval: time.Hour}, Enabled: 1_000_000, Enforced: 1_000_000, Status: http.StatusTooManyRequests,
	}
	limited, err := instance.Interceptor(httpfilter.Use{Config: config, Scope: "s"})
	if err != nil {
		t.Fatal(err)
	}
	handler := limited.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for i, tt := range []struct {
		ctx    context.Context //nolint:containedctx // of the request
		remote string
		forged string
		want   int
	}{
		{canceled, "10.0.0.1:1", "", http.StatusNoContent},
		{canceled, "10.0.0.1:1", "", http.StatusNoContent},
		{t.Context(), "10.0.0.1:2", "", http.StatusTooManyRequests},
		{t.Context(), "10.0.0.2:1", "10.0.0.3", http.StatusTooManyRequests},
		{canceled, "10.0.0.2:1", "", http.StatusTooManyRequests},
	} {
		r := httptest.NewRequestWithContext(tt.ctx, http.MethodGet, "/", http.NoBody)
		r.RemoteAddr = tt.remote
		r.Header.Set("X-Forwarded-For", tt.forged)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != tt.want {
			t.Errorf("request %d gets %d; want %d", i, w.Code, tt.want)
		}
	}
}

// A filter rejects the configuration of another one.
func TestConfigurationsOfOtherFilters(t *testing.T) {
	wrong := httpfilter.Use{Config: 1, Override: 1}
	for _, f := range Filters() {
		if f.NewServer != nil {
			instance, err := f.NewServer(httpfilter.Host{})
			if err != nil {
				t.Fatal(err)
			}
			if i, err := instance.Interceptor(wrong); err == nil {
				t.Errorf("%s of servers accepts a number as its configuration: %v", f.Config, i)
			}
			instance.Close()
		}
		if f.NewClient != nil {
			instance, err := f.NewClient(httpfilter.Host{})
			if err != nil {
				t.Fatal(err)
			}
			if i, err := instance.Interceptor(wrong); err == nil {
				t.Errorf("%s of clients accepts a number as its configuration: %v", f.Config, i)
			}
			instance.Close()
		}
	}
}

// RBAC does not run with audit loggers that it would not call.
func TestAuditLoggers(t *testing.T) {
	for condition, want := range map[string]error{"ON_DENY": errAudit, "NONE": nil} {
		fields := new(structpb.Struct)
		text := fmt.Sprintf(`{"rules": {"action": "DENY", "audit_logging_options": {"audit_condition": %q, "logger_configs": [{"audit_logger": {
			"name": "l", "typed_config": {"@type": "x/envoy.extensions.rbac.audit_loggers.stream.v3.StdoutAuditLog"}}}]}}}`, condition)
		if err := fields.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
		f := rbacFilter()
		config, err := f.Parse(new(resource.DecodeContext), resource.TypedConfig{Message: f.Config, Fields: fields})
		if err != nil {
			t.Fatal(err)
		}
		instance, err := f.NewServer(httpfilter.Host{})
		if err != nil {
			t.Fatal(err)
		}
		if i, err := instance.Interceptor(httpfilter.Use{Config: config}); !errors.Is(err, want) || (i == nil) != (want != nil) {
			t.Errorf("audit condition %s: %v, %v; want the error %v", condition, i, err, want)
		}
	}
}
