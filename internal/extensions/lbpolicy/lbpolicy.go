package lbpolicy

import (
	"fmt"

	leastrequestv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/least_request/v3"
	pickfirstv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/pick_first/v3"
	randomv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/random/v3"
	subsettingv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/random_subsetting/v3"
	ringhashv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/ring_hash/v3"
	roundrobinv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/round_robin/v3"
	wrrlocalityv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/wrr_locality/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/wire"
)

// Register registers the policies.
func Register(r resource.Registrar) {
	for _, p := range []*resource.LBPolicy{
		{Config: "envoy.extensions.load_balancing_policies.round_robin.v3.RoundRobin", Convert: roundRobin},
		policy(&pickfirstv3.PickFirst{}, func(m *pickfirstv3.PickFirst) (resource.LBConfig, error) {
			return resource.LBConfig{Name: "pick_first", Config: fmt.Sprintf(`{"shuffleAddressList":%t}`, m.GetShuffleAddressList())}, nil
		}),
		policy(&ringhashv3.RingHash{}, ringHash),
		policy(&leastrequestv3.LeastRequest{}, leastRequest),
		weightedRoundRobin(),
		{Config: "envoy.extensions.load_balancing_policies.wrr_locality.v3.WrrLocality", Convert: wrrLocality},
		{Config: "envoy.extensions.load_balancing_policies.random_subsetting.v3.RandomSubsetting", Convert: randomSubsetting},
	} {
		r.Fill(p)
	}
	for _, p := range named() {
		r.Fill(p)
	}
}

// policy returns the LB policy that a message configures.
func policy[M proto.Message](message M, convert func(M) (resource.LBConfig, error)) *resource.LBPolicy {
	return &resource.LBPolicy{
		Config: string(message.ProtoReflect().Descriptor().FullName()),
		Convert: func(c resource.TypedConfig, _ resource.LBChildren) (resource.LBConfig, error) {
			m, _ := message.ProtoReflect().New().Interface().(M)
			if err := c.Unmarshal(m); err != nil {
				return resource.LBConfig{}, err
			}
			return convert(m)
		},
	}
}

// Names of the LB policies that this module runs itself.
const (
	Random             = "random"
	RandomSubsetting   = "random_subsetting_experimental"
	RingHash           = "ring_hash_experimental"
	RoundRobin         = "round_robin"
	WeightedRoundRobin = "weighted_round_robin"
	WRRLocality        = "xds_wrr_locality_experimental"
)

// RandomPolicy returns the policy random of Envoy, which only HTTP clients have.
func RandomPolicy() *resource.LBPolicy {
	return &resource.LBPolicy{
		Config: "envoy.extensions.load_balancing_policies.random.v3.Random",
		Convert: func(c resource.TypedConfig, _ resource.LBChildren) (resource.LBConfig, error) {
			_, err := c.Encoded((*randomv3.Random)(nil))
			return resource.LBConfig{Name: Random, Config: "{}"}, err
		},
	}
}

// Sizes of the rings of ring_hash, in entries (A42).
const (
	MinRingSize = 1024    // the default of the minimum
	MaxRingSize = 8 << 20 // the limit, and the default of the maximum
)

func ringHash(m *ringhashv3.RingHash) (resource.LBConfig, error) {
	var v resource.Violations
	var root *resource.Path
	low, high := uint64(MinRingSize), uint64(MaxRingSize)
	if s := m.GetMinimumRingSize().GetValue(); s != 0 { // gRPC's LB policy treats 0 as not set
		low = s
	}
	if m.GetMaximumRingSize() != nil {
		high = m.GetMaximumRingSize().GetValue()
	}
	if m.GetHashFunction() != ringhashv3.RingHash_XX_HASH {
		v.Add(root.Field("hash_function"), m.GetHashFunction(), "must be XX_HASH (A42)")
	}
	checkSizes(low, high, root.Field("minimum_ring_size"), root.Field("maximum_ring_size"), &v)
	if err := v.Err(); err != nil {
		return resource.LBConfig{}, err
	}
	return resource.LBConfig{Name: RingHash, Config: fmt.Sprintf(`{"maxRingSize":%d,"minRingSize":%d}`, high, low)}, nil
}

// checkSizes checks the minimum and the maximum of ring entries, which are in two fields.
func checkSizes(low, high uint64, atLow, atHigh resource.Path, v *resource.Violations) {
	if high > MaxRingSize {
		v.Add(atHigh, high, "must be at most 8388608 (A42)")
	}
	if low > high {
		v.Add(atLow, low, "must not be above the maximum size (A42)")
	}
}

func leastRequest(m *leastrequestv3.LeastRequest) (resource.LBConfig, error) {
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

func roundRobin(c resource.TypedConfig, _ resource.LBChildren) (resource.LBConfig, error) {
	_, err := c.Encoded((*roundrobinv3.RoundRobin)(nil))
	return resource.LBConfig{Name: RoundRobin, Config: "{}"}, err
}

// child converts the child policies in a field.
func child(children resource.LBChildren, field string, policies []byte) (resource.LBConfig, error) {
	c, err := children(policies)
	if err == nil {
		return c, nil
	}
	var v resource.Violations
	v.AddError((*resource.Path)(nil).Field(field), err)
	return c, v.Err()
}

func wrrLocality(c resource.TypedConfig, children resource.LBChildren) (resource.LBConfig, error) {
	b, err := c.Encoded((*wrrlocalityv3.WrrLocality)(nil))
	if err != nil {
		return resource.LBConfig{}, err
	}
	below, err := child(children, "endpoint_picking_policy", wire.Field(b, 1))
	if err != nil {
		return resource.LBConfig{}, err
	}
	return resource.LBConfig{Name: WRRLocality, Config: below.List(`{"childPolicy":`, "}")}, nil
}

func randomSubsetting(c resource.TypedConfig, children resource.LBChildren) (resource.LBConfig, error) {
	m := new(subsettingv3.RandomSubsetting)
	if err := c.Unmarshal(m); err != nil {
		return resource.LBConfig{}, err
	}
	policies, err := proto.Marshal(m.GetChildPolicy())
	if err != nil {
		return resource.LBConfig{}, err
	}
	var v resource.Violations
	size := m.GetSubsetSize().GetValue()
	if size == 0 {
		v.Add((*resource.Path)(nil).Field("subset_size"), size, "must be at least 1 (A68)")
	}
	below, err := child(children, "child_policy", policies)
	if err != nil {
		v.AddError(resource.Path{}, err)
	}
	if err := v.Err(); err != nil {
		return resource.LBConfig{}, err
	}
	return resource.LBConfig{Name: RandomSubsetting, Config: below.List(`{"childPolicy":`, fmt.Sprintf(`,"subsetSize":%d}`, size))}, nil
}
