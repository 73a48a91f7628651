// Package clustermanager is the LB policy at the top of a channel. It has a child for each cluster
// that calls may be sent to. The call's route selects the child (gRFC A28). The policy reads an
// [xdsconfig.State] from the attributes of the resolver's state.
//
// The policies below it form the tree of gRFC A75. They are built directly, because grpc's registry
// has only this policy. A target cluster has its leaf clusters, in order of preference. A leaf
// cluster has package clusterimpl and its priorities. A priority has the policy that the control
// plane configures. The leaves of the tree are grpc's policies.
package clustermanager

import (
	"encoding/json"
	"fmt"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/serviceconfig"
)

// Name is the policy's name. It is unique to this module.
const Name = "xdsforge_cluster_manager"

// ServiceConfig is the service config that selects the policy.
const ServiceConfig = `{"loadBalancingConfig":[{"` + Name + `":{}}]}`

// A config is the policy's configuration, an object.
type config struct {
	serviceconfig.LoadBalancingConfig `json:"-"`

	// Cluster is the cluster of all calls. If it is empty, each call's route selects the cluster.
	// It is for policies that choose clusters and have this policy as a child for each (gRFC A74).
	Cluster string `json:"cluster"`
	// raw may have lrs_load_reporting_server. The cluster's load is then reported to that server
	// instead of the one that the cluster names. The server must be in the bootstrap (A47).
	raw []byte
}

type builder struct{}

// Register adds the policy to grpc's registry. Call it only during the initialization of the
// program.
func Register() { balancer.Register(builder{}) }

// Name implements [balancer.Builder].
func (builder) Name() string { return Name }

// ParseConfig implements [balancer.ConfigParser].
func (builder) ParseConfig(raw json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	c := &config{raw: raw}
	if err := json.Unmarshal(raw, c); err != nil {
		return nil, fmt.Errorf("LB policy %s: %w", Name, err)
	}
	return c, nil
}

// Build implements [balancer.Builder].
func (builder) Build(cc balancer.ClientConn, options balancer.BuildOptions) balancer.Balancer {
	return newManager(cc, options)
}
