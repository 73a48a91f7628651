package grpcxds

import (
	"github.com/xdsforge/xdsforge/grpcxds/internal/balancer/clustermanager"
)

// gRPC finds LB policies in a registry that is to be filled by init functions only. This
// one has a name of its own, so that it gets along with gRPC's own xDS in one program; all
// that is below it is built directly, or is gRPC's and the users'.
func init() { //nolint:gochecknoinits // gRPC knows no other way
	clustermanager.Register()
}

// serviceConfig names the policy.
const serviceConfig = `{"loadBalancingConfig":[{"` + clustermanager.Name + `":{}}]}`
