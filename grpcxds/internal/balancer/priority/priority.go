package priority

import (
	"errors"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"

	"github.com/xdsforge/xdsforge/grpcxds/internal/balancer/node"
	"github.com/xdsforge/xdsforge/grpcxds/internal/balancer/serial"
)

const (
	// failover is how long a child may try to connect before the next one is tried (A56).
	failover = 10 * time.Second
	// retention is how long a child is kept that is not needed since a better one is good
	// again (A56). One that the configuration has no longer is not kept (A115).
	retention = 15 * time.Minute
)

var errEmpty = errors.New("there are no priorities")

// A Child is what a priority stands for.
type Child interface {
	ExitIdle()
	Close()
}

// A Host makes the children.
type Host[C Child] interface {
	// Build starts the child of a name, which reports as a [node.Report] demands.
	Build(name string, report node.Report) C
	// Configure gives a child what the host has for it now.
	Configure(name string, child C)
}

// A Policy is the policy, on a loop.
type Policy[C Child] struct {
	loop     *serial.Loop
	host     Host[C]
	report   node.Report
	order    []string
	children map[string]*child[C]
	// busy says that children are being told something; what they report meanwhile is looked
	// at when all know.
	busy bool
}

type child[C Child] struct {
	policy C
	state  balancer.State
	// failedLast says that the child has failed since it was last ready or idle.
	failedLast bool
	failover   serial.Timer
	expiry     serial.Timer // set: deactivated
}

// New returns a policy without children, which reports as a [node.Policy] does.
func New[C Child](loop *serial.Loop, host Host[C], report node.Report) *Policy[C] {
	return &Policy[C]{loop: loop, host: host, report: report, children: make(map[string]*child[C])}
}

// Update replaces the children, best first. Those that stay, by name, are configured anew;
// others are closed at once (A115), and new ones started when they are needed.
func (p *Policy[C]) Update(order []string) {
	p.order = order
	wanted := make(map[string]bool, len(order))
	for _, name := range order {
		wanted[name] = true
	}
	p.busy = true
	for name, c := range p.children {
		if wanted[name] {
			p.host.Configure(name, c.policy)
		} else {
			p.remove(name, c)
		}
	}
	p.busy = false
	p.choose()
}

// ExitIdle connects what is idle.
func (p *Policy[C]) ExitIdle() {
	for _, c := range p.children {
		if !c.expiry.Pending() {
			c.policy.ExitIdle()
		}
	}
}

// Close closes all children.
func (p *Policy[C]) Close() {
	p.busy = true
	for name, c := range p.children {
		p.remove(name, c)
	}
}

func (p *Policy[C]) remove(name string, c *child[C]) {
	delete(p.children, name)
	c.failover.Stop()
	c.expiry.Stop()
	c.policy.Close()
}

// choose finds the child to use, starting children as needed, and reports its state.
func (p *Policy[C]) choose() {
	if len(p.order) == 0 {
		p.report(node.Failure(errEmpty))
		return
	}
	d := choose(p.views())
	for d.create {
		p.create(p.order[d.use])
		d = choose(p.views())
	}
	for i, name := range p.order {
		c := p.children[name]
		switch {
		case i < d.active:
			c.expiry.Stop()
		case d.deactivate && c != nil && !c.expiry.Pending():
			c.expiry.Set(p.loop, retention, func() { p.remove(name, c) })
		}
	}
	p.report(p.children[p.order[d.use]].state)
}

func (p *Policy[C]) views() []view {
	views := make([]view, len(p.order))
	for i, name := range p.order {
		if c := p.children[name]; c != nil {
			views[i] = view{exists: true, state: c.state.ConnectivityState, trying: c.failover.Pending()}
		}
	}
	return views
}

func (p *Policy[C]) create(name string) {
	c := &child[C]{state: node.Connecting()}
	p.children[name] = c
	p.try(c)
	p.busy = true
	c.policy = p.host.Build(name, func(s balancer.State) { p.reported(name, c, s) })
	p.host.Configure(name, c.policy)
	p.busy = false
}

// try gives a child its time to connect.
func (p *Policy[C]) try(c *child[C]) {
	c.failover.Set(p.loop, failover, p.choose)
}

// reported takes in the state of a child.
func (p *Policy[C]) reported(name string, c *child[C], s balancer.State) {
	if p.children[name] != c {
		return
	}
	last := c.state.ConnectivityState
	c.state = s
	switch s.ConnectivityState {
	case connectivity.Ready, connectivity.Idle:
		c.failedLast = false
		c.failover.Stop()
	case connectivity.TransientFailure:
		c.failedLast = true
		c.failover.Stop()
	case connectivity.Connecting:
		if last != connectivity.Connecting && !c.failedLast {
			p.try(c)
		}
	default:
	}
	if !p.busy {
		p.choose()
	}
}
