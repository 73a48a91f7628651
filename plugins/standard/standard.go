package standard

import (
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/builtin"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// Register registers the standard types and the built-in extensions that they use.
func Register(r resource.Registrar) {
	listener.Register(r)
	route.Register(r)
	cluster.Register(r)
	endpoint.Register(r)
	builtin.Register(r)
}
