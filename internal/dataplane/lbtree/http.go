package lbtree

import (
	"time"

	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/balancer"

	"github.com/xdsforge/xdsforge/internal/dataplane/breaker"
	"github.com/xdsforge/xdsforge/plugins/cluster"
)

// httpKey is the attribute of an address with the HTTP settings of its cluster.
type httpKey struct{}

// An HTTP has the settings of a cluster for its connections. It is zero for gRPC channels, and comparable.
type HTTP struct {
	ConnectTimeout time.Duration
	Version        cluster.HTTPVersion
	// Circuit has the limits of the cluster. The same one has all later limits.
	Circuit *breaker.Circuit
}

// WithHTTP adds the HTTP settings of a cluster to the attributes of its addresses.
func WithHTTP(a *attributes.Attributes, s HTTP) *attributes.Attributes {
	return a.WithValue(httpKey{}, s)
}

// HTTPOf returns the settings that [WithHTTP] added. They are zero if there are none.
func HTTPOf(a *attributes.Attributes) HTTP {
	s, _ := a.Value(httpKey{}).(HTTP)
	return s
}

// A WaitingError is the error of a request that waits for a connection of a cluster. It is balancer.ErrNoSubConnAvailable with the
// limits of the cluster.
type WaitingError struct{ *breaker.Circuit }

// Error implements error.
func (WaitingError) Error() string { return balancer.ErrNoSubConnAvailable.Error() }

// Unwrap returns balancer.ErrNoSubConnAvailable.
func (WaitingError) Unwrap() error { return balancer.ErrNoSubConnAvailable }
