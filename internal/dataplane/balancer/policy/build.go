package policy

import (
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/grpc/balancer"
	// These packages register the policies that internal/extensions/lbpolicy renders.
	_ "google.golang.org/grpc/balancer/leastrequest"
	_ "google.golang.org/grpc/balancer/pickfirst"
	_ "google.golang.org/grpc/balancer/randomsubsetting"
	_ "google.golang.org/grpc/balancer/roundrobin"
	_ "google.golang.org/grpc/balancer/weightedroundrobin"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/balancer/hosted"
	"github.com/xdsforge/xdsforge/internal/dataplane/balancer/node"
	"github.com/xdsforge/xdsforge/internal/dataplane/balancer/ringhash"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// The policies of this module. All others come from grpc's registry.
const (
	ringHash    = "ring_hash_experimental"
	wrrLocality = "xds_wrr_locality_experimental"
)

// known reports whether there is a policy with a name.
func known(name string) bool {
	return name == ringHash || name == wrrLocality || balancer.Get(name) != nil
}

// build starts the policy with a name.
func build(name string, env *node.Env, report node.Report) node.Policy {
	switch name {
	case ringHash:
		return ringhash.New(env, report)
	case wrrLocality:
		return newLocalities(env, report)
	}
	b := balancer.Get(name)
	if b == nil {
		return &broken{report, fmt.Errorf("LB policy %s is not registered (A52)", printable.Quote(name, printable.Short))}
	}
	return hosted.New(env, b, report)
}

var errNoneKnown = errors.New("no LB policy of the list is known")

// first returns the first known policy of a service config's list.
func first(list json.RawMessage) (resource.LBConfig, error) {
	var entries []map[string]json.RawMessage
	if err := json.Unmarshal(list, &entries); err != nil {
		return resource.LBConfig{}, fmt.Errorf("the list of LB policies: %w", err)
	}
	for _, e := range entries {
		for name, config := range e {
			if known(name) {
				return resource.LBConfig{Name: name, Config: string(config)}, nil
			}
		}
	}
	return resource.LBConfig{}, errNoneKnown
}

// broken replaces a policy that does not exist.
type broken struct {
	report node.Report
	err    error
}

// Update reports the error.
func (b *broken) Update(node.Target) { b.report(node.Failure(b.err)) }

// ExitIdle does nothing.
func (b *broken) ExitIdle() {}

// Close does nothing.
func (b *broken) Close() {}
