package cluster

import (
	"fmt"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// lbPolicy returns the cluster's LB policy in gRPC's terms. It reads load_balancing_policy
// (A52), or lb_policy if the former is not set. In profile Envoy, the result is empty for a
// policy that gRPC does not support.
func lbPolicy(dc *resource.DecodeContext, policies []byte, legacy clusterv3.Cluster_LbPolicy, least, ring []byte) (resource.LBConfig, error) {
	var v resource.Violations
	var c resource.LBConfig
	if policies != nil {
		var err error
		if c, err = dc.LBPolicy(policies); err != nil {
			v.AddError((*resource.Path)(nil).Field("load_balancing_policy"), err)
		}
	} else {
		c = legacyPolicy(dc, legacy, least, ring, &v)
	}
	if dc.Types.Profile() == resource.Envoy {
		return c, nil
	}
	return c, v.Err()
}

// legacyPolicy returns the policy of lb_policy with its configuration.
func legacyPolicy(dc *resource.DecodeContext, p clusterv3.Cluster_LbPolicy, least, ring []byte, v *resource.Violations) resource.LBConfig {
	var root *resource.Path
	http := dc.Types.Profile() == resource.HTTP
	switch p {
	case clusterv3.Cluster_ROUND_ROBIN:
		return resource.LBConfig{Name: wrrLocality, Config: `{"childPolicy":[{"round_robin":{}}]}`}
	case clusterv3.Cluster_LEAST_REQUEST:
		var m clusterv3.Cluster_LeastRequestLbConfig
		read(root.Field("least_request_lb_config"), least, &m, v)
		count := uint32(2)
		if c := m.GetChoiceCount(); c != nil {
			count = c.GetValue()
		}
		if count < 2 {
			v.Add(root.Field("least_request_lb_config.choice_count"), count, "must be at least 2 (A48)")
		}
		return resource.LBConfig{Name: wrrLocality, Config: fmt.Sprintf(`{"childPolicy":[{"least_request_experimental":{"choiceCount":%d}}]}`, count)}
	case clusterv3.Cluster_RING_HASH:
		return ringHash(ring, v)
	case clusterv3.Cluster_RANDOM:
		if http {
			return resource.LBConfig{Name: wrrLocality, Config: `{"childPolicy":[{"random":{}}]}`}
		}
	default:
	}
	names := "ROUND_ROBIN, RING_HASH, LEAST_REQUEST"
	if http {
		names += ", RANDOM"
	}
	v.Add(root.Field("lb_policy"), p, "must be one of "+names)
	return resource.LBConfig{}
}

// maxRingSize is the limit of ring entries and the default of the cluster's own limit
// (A42).
const maxRingSize = 8 << 20

func ringHash(config []byte, v *resource.Violations) resource.LBConfig {
	p := (*resource.Path)(nil).Field("ring_hash_lb_config")
	m := new(clusterv3.Cluster_RingHashLbConfig)
	read(p, config, m, v)
	low, high := uint64(1024), uint64(maxRingSize)
	if s := m.GetMinimumRingSize().GetValue(); s != 0 { // gRPC's LB policy treats 0 as not set
		low = s
	}
	if s := m.GetMaximumRingSize(); s != nil {
		high = s.GetValue()
	}
	if m.GetHashFunction() != clusterv3.Cluster_RingHashLbConfig_XX_HASH {
		v.Add(p.Field("hash_function"), m.GetHashFunction(), "must be XX_HASH (A42)")
	}
	if high > maxRingSize {
		v.Add(p.Field("maximum_ring_size"), high, "must be at most 8388608 (A42)")
	}
	if low > high {
		v.Add(p.Field("minimum_ring_size"), low, "must not be above maximum_ring_size (A42)")
	}
	return resource.LBConfig{Name: "ring_hash_experimental", Config: fmt.Sprintf(`{"maxRingSize":%d,"minRingSize":%d}`, high, low)}
}

// wrrLocality is the policy that chooses a locality by weight; its child policy picks the
// endpoint (A52).
const wrrLocality = "xds_wrr_locality_experimental"

// read unmarshals a configuration that few clusters have.
func read(p resource.Path, config []byte, m proto.Message, v *resource.Violations) {
	if err := proto.Unmarshal(config, m); err != nil {
		v.AddError(p, err)
	}
}
