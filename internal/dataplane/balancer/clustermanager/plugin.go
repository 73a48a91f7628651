package clustermanager

import (
	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/internal/dataplane/balancer/clusterimpl"
	"github.com/xdsforge/xdsforge/internal/dataplane/balancer/node"
	"github.com/xdsforge/xdsforge/internal/dataplane/balancer/policy"
	"github.com/xdsforge/xdsforge/internal/dataplane/serial"
)

// A plugin is the policy of a cluster specifier plugin. It chooses clusters, and has this package's
// policy as a child for each.
type plugin struct {
	*policy.Switch
	around *clusterimpl.Around
	env    *node.Env
	target string
}

// chosenKey marks the attributes of the resolver.State below a plugin's policy.
type chosenKey struct{}

// chosen reports whether a manager is below a plugin's policy. Its configuration must then have a
// cluster. With the targets of the routes, the manager would run the plugin again below itself.
func chosen(a *attributes.Attributes) bool { return a.Value(chosenKey{}) != nil }

func newPlugin(around *clusterimpl.Around, target string, report node.Report) *plugin {
	env := &node.Env{Loop: around.Loop, Options: around.Options}
	env.Conn = &looping{around.Conn, around.Loop}
	return &plugin{policy.New(env, report), around, env, target}
}

func (p *plugin) update() {
	p.env.Attributes = p.around.Attributes.WithValue(chosenKey{}, true)
	p.Update(node.Target{Policy: p.around.State.Config.Plugins[p.target], Chooses: true})
}

// A looping connection calls the listeners of subchannels on the loop.
type looping struct {
	balancer.ClientConn
	loop *serial.Loop
}

// NewSubConn implements [balancer.ClientConn].
func (c *looping) NewSubConn(addrs []resolver.Address, opts balancer.NewSubConnOptions) (balancer.SubConn, error) {
	listener := opts.StateListener
	opts.StateListener = func(s balancer.SubConnState) { c.loop.Post(func() { listener(s) }) }
	return c.ClientConn.NewSubConn(addrs, opts) //nolint:staticcheck // there is no other way to make one
}
