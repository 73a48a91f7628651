package policy

import "github.com/xdsforge/xdsforge/framework/status/dataplane"

// Describe describes the policy in use and the one that replaces it when it is connected, nil for none.
func (s *Switch) Describe() (current, waiting *dataplane.Policy) {
	return s.current.describe(), s.pending.describe()
}

func (r *running) describe() *dataplane.Policy {
	if r == nil {
		return nil
	}
	d := &dataplane.Policy{Name: r.name, State: r.state.ConnectivityState.String()}
	r.policy.Describe(d)
	return d
}

// Describe implements [lbtree.Policy].
func (p *leaf) Describe(d *dataplane.Policy) { describeError(d, p.err) }

// Describe implements [lbtree.Policy].
func (p *ringHash) Describe(d *dataplane.Policy) { describeError(d, p.err) }

// Describe implements [lbtree.Policy].
func (p *weighted) Describe(d *dataplane.Policy) { describeError(d, p.err) }

// Describe implements [lbtree.Policy]. The description of the endpoints has the errors.
func (*roundRobin) Describe(*dataplane.Policy) {}

// Describe implements [lbtree.Policy].
func (b *broken) Describe(d *dataplane.Policy) { describeError(d, b.err) }

// Describe implements [lbtree.Policy]. It adds the policy of the subset.
func (p *randomSubsetting) Describe(d *dataplane.Policy) {
	describeError(d, p.err)
	child := dataplane.Child{Subset: true}
	child.Policy, child.Waiting = p.child.Describe()
	d.Children = append(d.Children, child)
}

// Describe implements [lbtree.Policy]. It adds the policy of each locality.
func (p *localities) Describe(d *dataplane.Policy) {
	describeError(d, p.err)
	for _, c := range p.order {
		id := c.id
		child := dataplane.Child{Region: id.Region, Zone: id.Zone, SubZone: id.SubZone}
		child.Policy, child.Waiting = c.policy.Describe()
		d.Children = append(d.Children, child)
	}
}

func describeError(d *dataplane.Policy, err error) {
	if err != nil {
		d.Err = err.Error()
	}
}
