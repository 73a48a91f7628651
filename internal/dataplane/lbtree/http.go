package lbtree

import (
	"google.golang.org/grpc/attributes"

	"github.com/xdsforge/xdsforge/plugins/cluster"
)

// httpKey is the attribute of an address with the HTTP settings of its cluster.
type httpKey struct{}

// WithHTTP adds the HTTP settings of a cluster to the attributes of its addresses.
func WithHTTP(a *attributes.Attributes, s cluster.HTTPSettings) *attributes.Attributes {
	return a.WithValue(httpKey{}, s)
}

// HTTPOf returns the settings that [WithHTTP] added. They are zero if there are none.
func HTTPOf(a *attributes.Attributes) cluster.HTTPSettings {
	s, _ := a.Value(httpKey{}).(cluster.HTTPSettings)
	return s
}
