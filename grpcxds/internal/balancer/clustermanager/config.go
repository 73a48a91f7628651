// Package clustermanager is the LB policy at the top of a channel: it has a child for each
// cluster that calls may be sent to, and leaves the choice to whoever chose the call's route
// (gRFC A28). What it goes by is an [xdsconfig.State] in the attributes of the resolver's
// state.
//
// Below it stands the tree that gRFC A75 draws. It is built directly, and not through grpc's
// registry, which has this policy only: for each cluster, the clusters that it comes to, best
// first; for each of these what package clusterimpl does, and its priorities; for each
// priority the policy that the control plane configures. The leaves are grpc's.
package clustermanager

import (
	"encoding/json"
	"fmt"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/serviceconfig"
)

// Name is the policy's name, which no other program's policy has.
const Name = "xdsforge_cluster_manager"

// ServiceConfig is the service config that names the policy.
const ServiceConfig = `{"loadBalancingConfig":[{"` + Name + `":{}}]}`

// A config is the policy's configuration, an object.
type config struct {
	serviceconfig.LoadBalancingConfig `json:"-"`

	// Cluster is the one to which all calls go; empty: that of each call's route. It is for
	// policies that choose clusters and have this one below them, for each (gRFC A74).
	Cluster string `json:"cluster"`
	// raw may have lrs_load_reporting_server, which is where the cluster's load is reported to
	// instead of the server that the cluster names; it must be in the bootstrap (A47).
	raw []byte
}

type builder struct{}

// Register adds the policy to grpc's registry. It must be called as the program is
// initialized, and nowhere else.
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
