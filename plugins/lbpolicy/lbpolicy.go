package lbpolicy

import (
	"fmt"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	leastrequestv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/least_request/v3"
	pickfirstv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/pick_first/v3"
	subsettingv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/random_subsetting/v3"
	ringhashv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/ring_hash/v3"
	roundrobinv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/round_robin/v3"
	wrrlocalityv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/wrr_locality/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// Register makes the policies known.
func Register(r resource.Registrar) {
	for _, p := range []*resource.LBPolicy{
		policy(&roundrobinv3.RoundRobin{}, func(resource.LBChildren, *roundrobinv3.RoundRobin) (resource.LBConfig, error) {
			return resource.LBConfig{Name: "round_robin", Config: "{}"}, nil
		}),
		policy(&pickfirstv3.PickFirst{}, func(_ resource.LBChildren, m *pickfirstv3.PickFirst) (resource.LBConfig, error) {
			return resource.LBConfig{Name: "pick_first", Config: fmt.Sprintf(`{"shuffleAddressList":%t}`, m.GetShuffleAddressList())}, nil
		}),
		policy(&ringhashv3.RingHash{}, ringHash),
		policy(&leastrequestv3.LeastRequest{}, leastRequest),
		weightedRoundRobin(),
		policy(&wrrlocalityv3.WrrLocality{}, wrrLocality),
		policy(&subsettingv3.RandomSubsetting{}, randomSubsetting),
	} {
		r.Extend(p)
	}
}

// Candidates are the policies of a list, as [resource.DecodeContext.LBPolicy] and
// [resource.LBChildren] take them.
func Candidates(m *clusterv3.LoadBalancingPolicy) []*anypb.Any {
	out := make([]*anypb.Any, 0, len(m.GetPolicies()))
	for _, p := range m.GetPolicies() {
		out = append(out, p.GetTypedExtensionConfig().GetTypedConfig())
	}
	return out
}

// policy is the policy that a message configures.
func policy[M proto.Message](message M, convert func(resource.LBChildren, M) (resource.LBConfig, error)) *resource.LBPolicy {
	return &resource.LBPolicy{
		Config: string(message.ProtoReflect().Descriptor().FullName()),
		Convert: func(c resource.TypedConfig, children resource.LBChildren) (resource.LBConfig, error) {
			m, _ := message.ProtoReflect().New().Interface().(M)
			if err := c.Unmarshal(m); err != nil {
				return resource.LBConfig{}, err
			}
			return convert(children, m)
		},
	}
}

const (
	minRingSize = 1024    // where the control plane says nothing (A42)
	maxRingSize = 8 << 20 // and the most that it may say
)

func ringHash(_ resource.LBChildren, m *ringhashv3.RingHash) (resource.LBConfig, error) {
	var v resource.Violations
	var root *resource.Path
	low, high := uint64(minRingSize), uint64(maxRingSize)
	if m.GetMinimumRingSize() != nil {
		low = m.GetMinimumRingSize().GetValue()
	}
	if m.GetMaximumRingSize() != nil {
		high = m.GetMaximumRingSize().GetValue()
	}
	if m.GetHashFunction() != ringhashv3.RingHash_XX_HASH {
		v.Add(root.Field("hash_function"), m.GetHashFunction(), "must be XX_HASH (A42)")
	}
	if high > maxRingSize {
		v.Add(root.Field("maximum_ring_size"), high, "must be at most 8388608 (A42)")
	}
	if low < 1 || low > high {
		v.Add(root.Field("minimum_ring_size"), low, "must be between 1 and maximum_ring_size (A42)")
	}
	if err := v.Err(); err != nil {
		return resource.LBConfig{}, err
	}
	return resource.LBConfig{Name: "ring_hash_experimental", Config: fmt.Sprintf(`{"maxRingSize":%d,"minRingSize":%d}`, high, low)}, nil
}

func leastRequest(_ resource.LBChildren, m *leastrequestv3.LeastRequest) (resource.LBConfig, error) {
	count := uint32(2)
	if m.GetChoiceCount() != nil {
		count = m.GetChoiceCount().GetValue()
	}
	if count < 2 {
		var v resource.Violations
		v.Add((*resource.Path)(nil).Field("choice_count"), count, "must be at least 2 (A48)")
		return resource.LBConfig{}, v.Err()
	}
	return resource.LBConfig{Name: "least_request_experimental", Config: fmt.Sprintf(`{"choiceCount":%d}`, count)}, nil
}

// child converts the list of policies in a field.
func child(children resource.LBChildren, field string, m *clusterv3.LoadBalancingPolicy) (resource.LBConfig, error) {
	c, err := children(Candidates(m))
	if err == nil {
		return c, nil
	}
	var v resource.Violations
	v.AddError((*resource.Path)(nil).Field(field), err)
	return c, v.Err()
}

func wrrLocality(children resource.LBChildren, m *wrrlocalityv3.WrrLocality) (resource.LBConfig, error) {
	c, err := child(children, "endpoint_picking_policy", m.GetEndpointPickingPolicy())
	if err != nil {
		return resource.LBConfig{}, err
	}
	return resource.LBConfig{Name: "xds_wrr_locality_experimental", Config: `{"childPolicy":` + c.List() + "}"}, nil
}

func randomSubsetting(children resource.LBChildren, m *subsettingv3.RandomSubsetting) (resource.LBConfig, error) {
	var v resource.Violations
	if m.GetSubsetSize().GetValue() == 0 {
		v.Add((*resource.Path)(nil).Field("subset_size"), m.GetSubsetSize().GetValue(), "must be at least 1 (A68)")
	}
	c, err := child(children, "child_policy", m.GetChildPolicy())
	if err != nil {
		v.AddError(resource.Path{}, err)
	}
	if err := v.Err(); err != nil {
		return resource.LBConfig{}, err
	}
	return resource.LBConfig{Name: "random_subsetting_experimental", Config: fmt.Sprintf(`{"childPolicy":%s,"subsetSize":%d}`, c.List(), m.GetSubsetSize().GetValue())}, nil
}
