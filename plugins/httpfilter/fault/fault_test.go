package fault

import (
	"strings"
	"testing"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	commonfaultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/common/fault/v3"
	faultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xdsforge/xdsforge/framework/resource"
)

func TestParse(t *testing.T) {
	for _, test := range []struct {
		m    *faultv3.HTTPFault
		want Config
	}{
		{&faultv3.HTTPFault{}, Config{}},
		{
			&faultv3.HTTPFault{Delay: &commonfaultv3.FaultDelay{FaultDelaySecifier: &commonfaultv3.FaultDelay_FixedDelay{FixedDelay: durationpb.New(time.Second)}}},
			Config{Delay: &Delay{Duration: time.Second}},
		},
		{
			&faultv3.HTTPFault{
				Delay: &commonfaultv3.FaultDelay{FaultDelaySecifier: &commonfaultv3.FaultDelay_HeaderDelay_{}},
				Abort: &faultv3.FaultAbort{
					ErrorType:  &faultv3.FaultAbort_HeaderAbort_{},
					Percentage: &typev3.FractionalPercent{Numerator: 5, Denominator: typev3.FractionalPercent_TEN_THOUSAND},
				},
			},
			Config{Delay: &Delay{FromHeaders: true, Unit: 10_000}, Abort: &Abort{FromHeaders: true, PerMillion: 500, Unit: 100}},
		},
		{&faultv3.HTTPFault{Abort: &faultv3.FaultAbort{ErrorType: &faultv3.FaultAbort_GrpcStatus{GrpcStatus: 16}}}, Config{Abort: &Abort{Code: 16}}},
	} {
		a, err := anypb.New(test.m)
		if err != nil {
			t.Fatal(err)
		}
		c, err := resource.OpenTypedConfig(a)
		if err != nil {
			t.Fatal(err)
		}
		got, err := parse(nil, c)
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
			t.Errorf("%v: %v (-want +got):\n%s", test.m, err, diff)
		}
	}
}

// HTTP statuses, 200 included, map to status codes by gRPC's table (A33).
func TestCodeOf(t *testing.T) {
	for status, want := range map[uint32]uint32{200: 2, 400: 13, 401: 16, 403: 7, 404: 12, 429: 14, 502: 14, 503: 14, 504: 14, 500: 2} {
		if got := CodeOf(status); got != want {
			t.Errorf("CodeOf(%d) = %d; want %d", status, got, want)
		}
	}
}

// Profile HTTP reads the fields that select requests, and rejects the fields that it does not support. Other profiles ignore
// both (A33).
func TestFieldsOfHTTP(t *testing.T) {
	types, err := new(resource.Set).Extend(resource.HTTP)
	if err != nil {
		t.Fatal(err)
	}
	m := &faultv3.HTTPFault{
		UpstreamCluster: "c",
		Headers:         []*routev3.HeaderMatcher{{Name: "X-A", HeaderMatchSpecifier: &routev3.HeaderMatcher_PresentMatch{PresentMatch: true}}},
	}
	read := func(dc *resource.DecodeContext) (Config, error) {
		t.Helper()
		a, err := anypb.New(m)
		if err != nil {
			t.Fatal(err)
		}
		c, err := resource.OpenTypedConfig(a)
		if err != nil {
			t.Fatal(err)
		}
		out, err := parse(dc, c)
		return out.(Config), err
	}
	http := &resource.DecodeContext{Types: types}
	if c, err := read(http); err != nil || c.Only == nil || c.Only.Cluster != "c" || len(c.Only.Headers) != 1 || !c.Only.Headers[0].Match("", true) || c.Only.Headers[0].Match("", false) {
		t.Errorf("profile HTTP reads %+v, %v; want cluster c and a matcher of a header that is present", c, err)
	}
	headers := m.Headers
	m.Headers = nil
	if c, err := read(http); err != nil || c.Only == nil || c.Only.Cluster != "c" || len(c.Only.Headers) != 0 {
		t.Errorf("without headers, profile HTTP reads %+v, %v; want a selection by cluster", c, err)
	}
	m.Headers, m.UpstreamCluster = headers, ""
	if c, err := read(http); err != nil || c.Only == nil || c.Only.Cluster != "" || len(c.Only.Headers) != 1 {
		t.Errorf("without a cluster, profile HTTP reads %+v, %v; want a selection by header", c, err)
	}
	m.Headers = nil
	if c, err := read(http); err != nil || c.Only != nil {
		t.Errorf("without both, profile HTTP reads %+v, %v; want no selection", c, err)
	}
	m.Headers, m.UpstreamCluster = headers, "c"
	m.DownstreamNodes, m.ResponseRateLimit = []string{"n"}, new(commonfaultv3.FaultRateLimit)
	if _, err := read(http); err == nil || !strings.Contains(err.Error(), "downstream_nodes") || !strings.Contains(err.Error(), "response_rate_limit") {
		t.Errorf("profile HTTP: error %v; want the two fields that are not supported", err)
	}
	if c, err := read(&resource.DecodeContext{}); err != nil || c.Only != nil {
		t.Errorf("profile GRPC reads %+v, %v; want nothing", c, err)
	}
}
