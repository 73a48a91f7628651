package listener

import (
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/convert"
)

// Manager returns the configuration for the calls of the chain's connections. It is nil
// only in profile Envoy.
func (c *FilterChain) Manager() *Manager {
	if c == nil {
		return nil
	}
	if n := len(c.Filters); n > 0 {
		return c.Filters[n-1].Manager
	}
	return nil
}

// otherFilter returns the configuration of a filter that is not an HttpConnectionManager.
func otherFilter(_ *resource.DecodeContext, m *Manager, config *anypb.Any) (*anypb.Any, error) { //nolint:unparam // the type of a hook
	if m != nil {
		return nil, nil //nolint:nilnil // Manager has the configuration
	}
	return convert.CopyAny(config), nil
}
