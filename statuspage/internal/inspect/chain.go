package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/status"
)

// The limits of a chain.
const (
	maxNodes    = 1000
	maxChildren = 100
	maxDepth    = 20
)

// A Node is a resource in a chain, such as Listener, RouteConfiguration, Cluster,
// ClusterLoadAssignment. Its children are the resources to which it refers.
type Node struct {
	Client string `json:"client"`
	Type   string `json:"type"`
	Name   string `json:"name"`
	// State is the state of gRFC A88, or "NOT_WATCHED" for a reference that the client does not follow.
	State string `json:"state"`
	Level Level  `json:"level"`
	// Worst is the worst level of the resource and those below it. Broken and Worst differ for a link
	// above the broken one.
	Worst        Level     `json:"worst"`
	Version      string    `json:"version,omitzero"`
	Updated      time.Time `json:"updated,omitzero"`
	Reason       string    `json:"reason,omitzero"`
	ControlPlane string    `json:"controlPlane,omitzero"`
	// Again means that the resource is in the chain before, with its children.
	Again    bool    `json:"again,omitzero"`
	Children []*Node `json:"children,omitempty"`
	// More is the number of children beyond the limit.
	More int `json:"more,omitzero"`
}

// ShortType returns the last part of the type's name.
func (n *Node) ShortType() string { return ShortType(n.Type) }

// ShortType returns the last part of the full name of a message.
func ShortType(fullName string) string { return fullName[strings.LastIndexByte(fullName, '.')+1:] }

// notWatched is the state of a reference that the client does not follow.
const notWatched = "NOT_WATCHED"

// A Chain has the resources of a client in the order of their references.
type Chain struct {
	// Roots are the resources to which no other one refers.
	Roots []*Node `json:"roots"`
	// More is the number of roots beyond the limit.
	More int `json:"more,omitzero"`
}

// Chain returns the resources of a client in the order of their references. If there are too many, the
// ones with problems come first.
func (s *Source) Chain(ctx context.Context, c Client) (Chain, error) {
	snapshot, err := s.snapshot(ctx, c)
	if err != nil {
		return Chain{}, err
	}
	return chainOf(c, &snapshot), nil
}

func chainOf(c Client, s *status.Snapshot) Chain {
	b := &chainBuilder{client: c.ID, index: make(map[resource.Ref]*status.Resource, len(s.Resources)), seen: make(map[resource.Ref]bool)}
	referred := make(map[resource.Ref]bool)
	for i := range s.Resources {
		r := &s.Resources[i]
		b.index[refOf(r)] = r
		if r.Update != nil {
			for ref := range r.Update.Refs() {
				if ref != refOf(r) {
					referred[ref] = true
				}
			}
		}
	}
	var roots []resource.Ref
	for i := range s.Resources {
		if ref := refOf(&s.Resources[i]); !s.Resources[i].Collection && !referred[ref] {
			roots = append(roots, ref)
		}
	}
	if len(roots) == 0 { // the references are a cycle
		for i := range s.Resources {
			roots = append(roots, refOf(&s.Resources[i]))
		}
	}
	out := Chain{Roots: make([]*Node, 0, min(len(roots), maxChildren))}
	roots, out.More = b.worstFirst(roots)
	for _, ref := range roots {
		if b.nodes >= maxNodes {
			out.More++
			continue
		}
		out.Roots = append(out.Roots, b.node(ref, 0))
	}
	return out
}

func refOf(r *status.Resource) resource.Ref { return resource.Ref{Type: r.Type, Name: r.Name} }

// A chainBuilder makes the nodes of a chain.
type chainBuilder struct {
	client string
	index  map[resource.Ref]*status.Resource
	seen   map[resource.Ref]bool
	nodes  int
}

// worstFirst returns at most maxChildren of the references, and the number of the others. It keeps their
// order unless there are too many.
func (b *chainBuilder) worstFirst(refs []resource.Ref) (some []resource.Ref, more int) {
	if len(refs) <= maxChildren {
		return refs, 0
	}
	sorted := slices.Clone(refs)
	slices.SortStableFunc(sorted, func(x, y resource.Ref) int { return b.level(y).rank() - b.level(x).rank() })
	return sorted[:maxChildren], len(refs) - maxChildren
}

func (b *chainBuilder) level(ref resource.Ref) Level {
	r, ok := b.index[ref]
	if !ok {
		return Healthy
	}
	return levelOf(r.State, r.Update != nil)
}

func (b *chainBuilder) node(ref resource.Ref, depth int) *Node {
	b.nodes++
	n := &Node{Client: b.client, Type: ref.Type, Name: ref.Name.String(), State: notWatched, Level: Healthy, Worst: Healthy}
	r, ok := b.index[ref]
	if !ok {
		return n
	}
	n.State, n.Level, n.Version, n.Updated = r.State, b.level(ref), r.Version, r.Updated
	n.Reason, n.ControlPlane = Reason(r)
	n.Worst = n.Level
	if b.seen[ref] {
		n.Again = true
		return n
	}
	b.seen[ref] = true
	if r.Update == nil {
		return n
	}
	refs, more := b.worstFirst(slices.Collect(r.Update.Refs()))
	n.More = more
	for _, child := range refs {
		if b.nodes >= maxNodes || depth == maxDepth {
			n.More++
			continue
		}
		c := b.node(child, depth+1)
		n.Children = append(n.Children, c)
		if c.Worst.rank() > n.Worst.rank() {
			n.Worst = c.Worst
		}
	}
	return n
}

// String returns the chain as indented text.
func (c Chain) String() string {
	var b strings.Builder
	for _, n := range c.Roots {
		n.write(&b, 0)
	}
	return b.String()
}

func (n *Node) write(b *strings.Builder, depth int) {
	fmt.Fprintf(b, "%s%s %q %s %s", strings.Repeat("  ", depth), n.ShortType(), n.Name, n.State, n.Worst)
	if n.Again {
		b.WriteString(" (see above)")
	}
	b.WriteString("\n")
	for _, c := range n.Children {
		c.write(b, depth+1)
	}
}
