package priority

import (
	"errors"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"

	"github.com/xdsforge/xdsforge/internal/dataplane/balancer/node"
	"github.com/xdsforge/xdsforge/internal/dataplane/serial"
)

const (
	// failover is the time for a child to connect, before the policy tries the next one (A56).
	failover = 10 * time.Second
	// retention is the time for which an unneeded child is kept after a better one has become
	// usable (A56). A child that the configuration has removed is not kept (A115).
	retention = 15 * time.Minute
)

var errEmpty = errors.New("there are no priorities")

// A Child is the policy of a priority.
type Child interface {
	ExitIdle()
	Close()
}

// A Host makes the children.
type Host[C Child] interface {
	// Build starts the child with a name. The child reports as a [node.Report] requires.
	Build(name string, report node.Report) C
	// Configure gives a child the newest configuration of the host.
	Configure(name string, child C)
}

// A Policy is the policy. It runs on a loop.
type Policy[C Child] struct {
	loop     *serial.Loop
	host     Host[C]
	report   node.Report
	order    []string
	children map[string]*child[C]
	// busy says that children are being updated. choose then runs after the update, not for each
	// report.
	busy bool
}

type child[C Child] struct {
	policy C
	state  balancer.State
	// failedLast says that the child has failed since it was last ready or idle.
	failedLast bool
	failover   serial.Timer
	expiry     serial.Timer // set: the child is deactivated
}

// New returns a policy without children. It reports as a [node.Policy] does.
func New[C Child](loop *serial.Loop, host Host[C], report node.Report) *Policy[C] {
	return &Policy[C]{loop: loop, host: host, report: report, children: make(map[string]*child[C])}
}

// Update replaces the children, in order of preference. It configures those that stay, by name, and
// closes others at once (A115). It starts new ones when they are needed.
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

// ExitIdle connects idle endpoints.
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

// choose finds the child to use, starts children as needed, and reports its state.
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

// try starts the failover timer of a child.
func (p *Policy[C]) try(c *child[C]) {
	c.failover.Set(p.loop, failover, p.choose)
}

// reported records the state of a child.
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
