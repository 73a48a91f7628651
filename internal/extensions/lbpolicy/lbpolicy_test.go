package lbpolicy_test

import (
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	roundrobinv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/round_robin/v3"
	wrrlocalityv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/wrr_locality/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/extensions/lbpolicy"
	"github.com/xdsforge/xdsforge/registry"
)

func list(t *testing.T, m proto.Message) *clusterv3.LoadBalancingPolicy {
	t.Helper()
	a, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return &clusterv3.LoadBalancingPolicy{Policies: []*clusterv3.LoadBalancingPolicy_Policy{{TypedExtensionConfig: &corev3.TypedExtensionConfig{TypedConfig: a}}}}
}

func encode(t *testing.T, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The limit of nested policies is sixteen (A52).
func TestDepth(t *testing.T) {
	reg := registry.New()
	lbpolicy.Register(reg)
	types, err := reg.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	dc := &resource.DecodeContext{Types: types}
	m := list(t, &roundrobinv3.RoundRobin{})
	for depth := 1; depth <= 17; depth++ {
		_, err := dc.LBPolicy(encode(t, m))
		switch {
		case depth <= 16 && err != nil:
			t.Errorf("%d policies: %v", depth, err)
		case depth == 17 && (err == nil || !strings.HasSuffix(err.Error(), "; must not nest more than 16 policies (A52)")):
			t.Errorf("17 policies: %v", err)
		}
		m = list(t, &wrrlocalityv3.WrrLocality{EndpointPickingPolicy: m})
	}
}
