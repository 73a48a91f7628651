package collections

import (
	"testing"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// The framework learns which collections there are.
func TestType(t *testing.T) {
	if typ := resource.Describe(Type()); !typ.Wildcard || !typ.Globs || typ.Collection != "envoy.config.cluster.v3.ClusterCollection" {
		t.Errorf("Wildcard = %v, Globs = %v, Collection = %q; want all", typ.Wildcard, typ.Globs, typ.Collection)
	}
}
