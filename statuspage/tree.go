package statuspage

import (
	"slices"

	"github.com/xdsforge/xdsforge/framework/status/dataplane"
	"github.com/xdsforge/xdsforge/statuspage/internal/inspect"
)

// maxRows is the limit of the rows of an LB tree on a page.
const maxRows = 1000

// A tree is a channel whose LB tree has at most maxRows rows. The failing clusters and endpoints come first.
type tree struct {
	inspect.Target
	// Hidden is the number of rows that are left out.
	Hidden int
}

func newTree(t inspect.Target) tree {
	b := &budget{left: maxRows}
	t.Clusters = cut(b, worstFirst(t.Clusters, func(c dataplane.Cluster) string { return c.State }))
	for i := range t.Clusters {
		c := &t.Clusters[i]
		c.Policy, c.Waiting = b.policy(c.Policy), b.policy(c.Waiting)
		c.Leaves = cut(b, c.Leaves)
		for k := range c.Leaves {
			b.leaf(&c.Leaves[k])
		}
	}
	return tree{t, b.hidden}
}

// A budget counts the rows.
type budget struct{ left, hidden int }

func (b *budget) leaf(l *dataplane.Leaf) {
	l.Drops = cut(b, l.Drops)
	l.Priorities = cut(b, l.Priorities)
	for i := range l.Priorities {
		p := &l.Priorities[i]
		p.Policy, p.Waiting = b.policy(p.Policy), b.policy(p.Waiting)
		p.Localities = cut(b, p.Localities)
		for k := range p.Localities {
			o := &p.Localities[k]
			o.Endpoints = cut(b, worstFirst(o.Endpoints, func(e dataplane.Endpoint) string { return e.State }))
		}
	}
}

func (b *budget) policy(p *dataplane.Policy) *dataplane.Policy {
	if p == nil {
		return nil
	}
	out := *p
	out.Children = cut(b, p.Children)
	for i := range out.Children {
		c := &out.Children[i]
		c.Policy, c.Waiting = b.policy(c.Policy), b.policy(c.Waiting)
	}
	return &out
}

// cut returns a copy of as many elements as there are rows left.
func cut[T any](b *budget, list []T) []T {
	n := min(len(list), b.left)
	b.left -= n
	b.hidden += len(list) - n
	return slices.Clone(list[:n])
}

// worstFirst returns a copy with the failing elements first.
func worstFirst[T any](list []T, state func(T) string) []T {
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(a, b T) int { return inspect.Worse(failing(state(b)), failing(state(a))) })
	return out
}

func failing(state string) inspect.Level {
	if l := stateLevel(state); l == inspect.Broken {
		return l
	}
	return inspect.Healthy
}
