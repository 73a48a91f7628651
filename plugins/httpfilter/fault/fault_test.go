package fault

import (
	"testing"
	"time"

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
