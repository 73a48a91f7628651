package extauthz

import (
	"context"
	"testing"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"go.opentelemetry.io/otel/metric/noop"
	"google.golang.org/grpc"

	config "github.com/xdsforge/xdsforge/plugins/httpfilter/extauthz"
)

// An always allows each call, and counts the checks.
type always struct{ checks int }

func (s *always) Check(context.Context, *authv3.CheckRequest, ...grpc.CallOption) (*authv3.CheckResponse, error) {
	s.checks++
	return new(authv3.CheckResponse), nil
}

// A call is checked if its random number is below filter_enabled.
func TestBoundsOfTheShare(t *testing.T) {
	for _, tt := range []struct {
		share, random uint32
		checked       bool
	}{
		{0, 0, false},
		{1, 0, true},
		{1, 1, false},
		{perMillion - 1, perMillion - 2, true},
		{perMillion - 1, perMillion - 1, false},
		{perMillion, perMillion - 1, true},
	} {
		m, err := newMetrics(noop.Meter{}, "client", "xds:///shop")
		if err != nil {
			t.Fatal(err)
		}
		s := new(always)
		a := &authorizer{
			config: config.Config{EnabledPerMillion: tt.share}, server: s, metrics: m,
			random: func(uint32) uint32 { return tt.random },
		}
		_, err = a.authorize(t.Context(), "", func() *authv3.AttributeContext { return nil })
		if checked := s.checks > 0; err != nil || checked != tt.checked {
			t.Errorf("%d of a million calls are checked, and the random number is %d: checked %t, error %v; want %t and none",
				tt.share, tt.random, checked, err, tt.checked)
		}
	}
}
