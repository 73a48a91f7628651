package clustermanager_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/balancer/endpointsharding"
	_ "google.golang.org/grpc/balancer/grpclb"
	"google.golang.org/grpc/balancer/pickfirst"
	_ "google.golang.org/grpc/balancer/ringhash"
	_ "google.golang.org/grpc/balancer/rls"
	_ "google.golang.org/grpc/balancer/weightedtarget"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/balancer/clustermanager"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
)

// These are the ways in which programs write their own policy.
const (
	onBase     = "balancertest_base"
	onSharding = "balancertest_sharding"
)

// registerOwn registers these policies. Call it before any test runs.
func registerOwn() {
	balancer.Register(base.NewBalancerBuilder(onBase, firstPicker{}, base.Config{}))
	balancer.Register(shardingBuilder{})
}

// firstPicker builds pickers that pick any ready connection.
type firstPicker struct{}

func (firstPicker) Build(info base.PickerBuildInfo) balancer.Picker {
	for sc := range info.ReadySCs {
		return only{sc}
	}
	return base.NewErrPicker(balancer.ErrNoSubConnAvailable)
}

type shardingBuilder struct{}

func (shardingBuilder) Name() string { return onSharding }

func (shardingBuilder) Build(cc balancer.ClientConn, o balancer.BuildOptions) balancer.Balancer {
	return endpointsharding.NewBalancer(cc, o, balancer.Get(pickfirst.Name).Build, endpointsharding.Options{})
}

// leafPolicies are the policies that grpc-go registers in public packages, and those of programs.
// One is left out: of autosharding, v1.85 has only the configuration.
var leafPolicies = []resource.LBConfig{
	{Name: "round_robin", Config: `{}`},
	{Name: "pick_first", Config: `{}`},
	{Name: "pick_first", Config: `{"shuffleAddressList":true}`},
	{Name: "least_request_experimental", Config: `{"choiceCount":2}`},
	{Name: "weighted_round_robin", Config: `{"blackoutPeriod":"0s"}`},
	{Name: "ring_hash_experimental", Config: `{}`},
	{Name: "random_subsetting_experimental", Config: `{"subsetSize":2,"childPolicy":[{"round_robin":{}}]}`},
	{Name: "random_subsetting_experimental", Config: `{"subsetSize":2,"childPolicy":[{"ring_hash_experimental":{}}]}`},
	{Name: "random_subsetting_experimental", Config: `{"subsetSize":2,"childPolicy":[{"xds_wrr_locality_experimental":{"childPolicy":[{"round_robin":{}}]}}]}`},
	{Name: "grpclb", Config: `{}`},
	{Name: "grpclb", Config: `{"childPolicy":[{"pick_first":{}}]}`},
	{Name: "rls_experimental", Config: `{"childPolicy":[{"least_request_experimental":{}}],"childPolicyConfigTargetFieldName":"target",
		"routeLookupConfig":{"lookupService":"passthrough:///127.0.0.1:1","cacheSizeBytes":"1000","defaultTarget":"default",
		"grpcKeybuilders":[{"names":[{"service":"s"}]}]}}`},
	{Name: onBase, Config: `{}`},
	{Name: onSharding, Config: `{}`},
}

// Each policy works as a leaf, both as the only policy and below a locality. It follows the
// endpoints when they change, increase and decrease.
func TestLeaves(t *testing.T) {
	b := startAll(t, 3)
	for _, leaf := range leafPolicies {
		below := resource.LBConfig{Name: "xds_wrr_locality_experimental", Config: `{"childPolicy":[{"` + leaf.Name + `":` + leaf.Config + `}]}`}
		for where, lb := range map[string]resource.LBConfig{"alone": leaf, "of a locality": below} {
			t.Run(leaf.Name+" "+where, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				for i, servers := range [][]*backend{b[:1], b[1:2], b[:2], b[2:], b[:1]} {
					w.one(eds(lb, locality("x", 0, 1, servers...)))
					want := at(servers...)
					w.until("c", want)
					// Calls may reach the old endpoints until the new ones are connected, and not
					// after that.
					for range 20 {
						if addr, err := w.call(t.Context(), lbtree.Call{Cluster: "c", HasHash: true}); !want(addr, err) {
							t.Fatalf("step %d: a call reached %q, %v, after one had reached the new endpoints", i, addr, err)
						}
					}
				}
			})
		}
	}
}

// These policies cannot be leaves. Calls fail with an error and do not hang.
func TestNotLeaves(t *testing.T) {
	b := startAll(t, 1)
	for _, test := range []struct {
		lb   resource.LBConfig
		want string
	}{
		{resource.LBConfig{Name: clustermanager.Name, Config: `{}`}, "no xDS configuration"},
		{resource.LBConfig{Name: clustermanager.Name, Config: `{"cluster":"c"}`}, "no xDS configuration"},
		{resource.LBConfig{Name: "weighted_target_experimental", Config: `{"targets":{"a":{"weight":1,"childPolicy":[{"round_robin":{}}]}}}`}, ""},
	} {
		w := newWorld(t)
		w.one(eds(test.lb, locality("x", 0, 1, b[0])))
		_, err := w.call(context.Background(), lbtree.Call{Cluster: "c"})
		if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %s: %v; want UNAVAILABLE, %s", test.lb.Name, test.lb.Config, err, test.want)
		}
	}
}
