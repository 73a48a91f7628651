package main

import (
	"context"
	"slices"
	"time"

	"github.com/xdsforge/xdsforge/internal/hostile/wire"
)

// An attack is one kind of bad content, and the bounds that hold for it.
type attack struct {
	name string
	// watches are the client's before the attack.
	watches []Watch
	// delta chooses the incremental variant of the protocol.
	delta bool
	// compress has the hostile control plane compress responses with gzip.
	compress bool
	// run is the hostile control plane. It returns when the client has answered.
	run func(ctx context.Context, s *scene) error
	// after runs before kept memory is measured. Nil: the client ends its watches.
	after func(ctx context.Context, s *scene) error
	// rejected is a part of the reason with which the client must reject the last
	// response; empty: the client must accept it.
	rejected string

	// Bounds; zero is the default.
	peak, kept int64 // bytes
	cpu, delay time.Duration
}

// A Watch is one subscription of the client.
type Watch struct {
	Message    string // the full name of the resource's message
	Name       string
	Collection bool // Name is that of a collection
}

// Default bounds.
const (
	maxPeak  = 300 << 20
	maxKept  = 8 << 20
	maxCPU   = 10 * time.Second
	maxDelay = 3 * time.Second
)

// large has the bounds of an attack with so many bytes, more than gRPC's wire.Usual 4 MiB.
func (a attack) large(bytes int64) attack {
	a.peak, a.cpu, a.delay = 4*bytes+maxPeak, 2*time.Minute, 10*time.Second
	return a
}

func (a attack) withDefaults() attack {
	set := func(p *int64, value int64) {
		if *p == 0 {
			*p = value
		}
	}
	set(&a.peak, maxPeak)
	set(&a.kept, maxKept)
	set((*int64)(&a.cpu), int64(maxCPU))
	set((*int64)(&a.delay), int64(maxDelay))
	return a
}

// allAttacks are the rows of the table.
func allAttacks() []attack {
	return slices.Concat(
		routeAttacks(),
		listenerAttacks(),
		endpointAttacks(),
		clusterAttacks(),
		nameAttacks(),
		targetAttacks(),
		ruleAttacks(),
		policyAttacks(),
		listAttacks(),
		stormAttacks(),
		compressedAttacks(),
	)
}

// on returns a function that creates attacks by one resource, which the client watches. body
// returns the fields after the name. The client must reject the resource with the error rejected,
// or accept it if rejected is empty.
func on(message, name string) func(title, rejected string, body func() []byte) attack {
	return func(title, rejected string, body func() []byte) attack {
		return attack{
			name: title, rejected: rejected, watches: []Watch{{Message: message, Name: name}},
			run: func(ctx context.Context, s *scene) error {
				return s.send(ctx, message, append(wire.Text(1, name), body()...))
			},
		}
	}
}

// Names of messages.
const (
	listenerMessage = "envoy.config.listener.v3.Listener"
	routeMessage    = "envoy.config.route.v3.RouteConfiguration"
	clusterMessage  = "envoy.config.cluster.v3.Cluster"
	endpointMessage = "envoy.config.endpoint.v3.ClusterLoadAssignment"
)
