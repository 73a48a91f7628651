package clustermanager

import (
	"errors"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"

	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/serial"
)

const (
	// failover is the time for a child to connect, before the policy tries the next one (A56).
	failover = 10 * time.Second
	// retention is the time for which an unneeded child is kept after a better one has become
	// usable (A56). A child that the configuration has removed is not kept (A115).
	retention = 15 * time.Minute
)

var errEmpty = errors.New("the cluster has no priorities")

// A prioritized is the policy of a priority.
type prioritized interface {
	ExitIdle()
	Close()
}

// priorities is the policy that uses the first usable child of several (gRFC A56). The tree has it
// twice: above the leaf clusters of an aggregate cluster (A75), and above the priorities of a
// cluster.
type priorities[C prioritized] struct {
	loop *serial.Loop
	// build starts the child with a name.
	build func(name string, report lbtree.Report) C
	// configure passes the newest configuration to a child.
	configure func(name string, child C)
	report    lbtree.Report
	order     []string
	children  map[string]*priorityChild[C]
	batch     lbtree.Batch
}

type priorityChild[C prioritized] struct {
	policy C
	state  balancer.State
	// failedLast says that the child has failed since it was last ready or idle.
	failedLast bool
	failover   serial.Timer
	expiry     serial.Timer // set: the child is deactivated
}

// newPriorities returns a policy without children. It reports as a [lbtree.Policy] does.
func newPriorities[C prioritized](loop *serial.Loop, build func(string, lbtree.Report) C, configure func(string, C), report lbtree.Report) *priorities[C] {
	p := &priorities[C]{loop: loop, build: build, configure: configure, report: report, children: make(map[string]*priorityChild[C])}
	p.batch.Report = p.choose
	return p
}

// Update replaces the children, in order of preference. It configures those that stay, by name, and
// closes others at once (A115). It starts new ones when they are needed.
func (p *priorities[C]) Update(order []string) {
	p.order = order
	wanted := make(map[string]bool, len(order))
	for _, name := range order {
		wanted[name] = true
	}
	p.batch.Update(func() {
		for name, c := range p.children {
			if wanted[name] {
				p.configure(name, c.policy)
			} else {
				p.remove(name, c)
			}
		}
	})
}

// ExitIdle connects idle endpoints.
func (p *priorities[C]) ExitIdle() {
	for _, c := range p.children {
		if !c.expiry.Pending() {
			c.policy.ExitIdle()
		}
	}
}

// Close closes all children.
func (p *priorities[C]) Close() {
	p.batch.Close()
	for name, c := range p.children {
		p.remove(name, c)
	}
}

func (p *priorities[C]) remove(name string, c *priorityChild[C]) {
	delete(p.children, name)
	c.failover.Stop()
	c.expiry.Stop()
	c.policy.Close()
}

// choose finds the child to use, starts children as needed, and reports its state.
func (p *priorities[C]) choose() {
	if len(p.order) == 0 {
		p.report(lbtree.Failure(errEmpty))
		return
	}
	d := choose(p.states())
	for d.create {
		p.create(p.order[d.use])
		d = choose(p.states())
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

func (p *priorities[C]) states() []childState {
	states := make([]childState, len(p.order))
	for i, name := range p.order {
		if c := p.children[name]; c != nil {
			states[i] = childState{exists: true, state: c.state.ConnectivityState, trying: c.failover.Pending()}
		}
	}
	return states
}

func (p *priorities[C]) create(name string) {
	c := &priorityChild[C]{state: lbtree.Connecting()}
	p.children[name] = c
	p.try(c)
	p.batch.Pause(func() {
		c.policy = p.build(name, func(s balancer.State) { p.reported(name, c, s) })
		p.configure(name, c.policy)
	})
}

// try starts the failover timer of a child.
func (p *priorities[C]) try(c *priorityChild[C]) {
	c.failover.Set(p.loop, failover, p.choose)
}

// reported records the state of a child.
func (p *priorities[C]) reported(name string, c *priorityChild[C], s balancer.State) {
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
	p.batch.Changed()
}

// A childState has the properties of a child that a choice depends on.
type childState struct {
	exists bool
	state  connectivity.State
	// trying says that the failover timer runs and the child may still connect.
	trying bool
}

// A choice is the result of choose.
type choice struct {
	// use is the index of the child whose picker is used.
	use int
	// create says that the child must be created first.
	create bool
	// active is the number of children that are needed.
	active int
	// deactivate says that the others must be deactivated.
	deactivate bool
}

// choose implements gRFC A56's algorithm. The children are in order of preference, and there is at
// least one.
func choose(children []childState) choice {
	for i, c := range children {
		switch {
		case !c.exists:
			return choice{use: i, create: true, active: i}
		case c.state == connectivity.Ready || c.state == connectivity.Idle:
			return choice{use: i, active: i + 1, deactivate: true}
		case c.trying:
			return choice{use: i, active: i + 1}
		}
	}
	for i, c := range children {
		if c.state == connectivity.Connecting {
			return choice{use: i, active: len(children)}
		}
	}
	return choice{use: len(children) - 1, active: len(children)}
}
