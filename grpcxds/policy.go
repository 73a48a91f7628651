package grpcxds

import (
	"github.com/xdsforge/xdsforge/internal/dataplane/balancer/clustermanager"
)

// gRPC's registry of LB policies may only be filled by init functions. This policy has a name of its own, so that a
// program can use it beside gRPC's own xDS. The policies below it are built directly, or are registered by gRPC and
// the program.
func init() { //nolint:gochecknoinits // gRPC offers no other way
	clustermanager.Register()
}

// serviceConfig selects the policy.
const serviceConfig = `{"loadBalancingConfig":[{"` + clustermanager.Name + `":{}}]}`
