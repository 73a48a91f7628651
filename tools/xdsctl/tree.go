package xdsctl

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/output"
	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/world"
)

// maxTree is the limit of resources in a tree.
const maxTree = 100_000

func (a *app) tree() *cobra.Command {
	var f sourceFlags
	c := &cobra.Command{
		Use:   "tree TARGET",
		Short: "Show the resources of a target, and the one that is missing",
		Long: `Tree follows the references of a target's Listener to routes, clusters and endpoints, and prints the
state of each. It marks resources that are rejected or missing. The target is that of a channel, such
as xds:///checkout, the name of a Listener, or a resource as TYPE/NAME. With --conn, it may also be the
scope of any client of the process, such as #server; the tree then begins with each resource that no
other one refers to.

` + sourceHelp,
		Example: `  xdsctl tree xds:///checkout --conn localhost:5555
  xdsctl tree xds:///checkout --bootstrap bootstrap.json
  xdsctl tree rds/routes --file config/`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return a.runTree(c.Context(), &f, args[0]) },
	}
	f.add(c)
	return c
}

// A branch is a resource in a tree.
type branch struct {
	entryView
	Endpoints []endpointView `json:"endpoints,omitempty"`
	Children  []*branch      `json:"refers_to,omitempty"`
	// Repeated is set if the resource and its references are in the tree already.
	Repeated bool `json:"repeated,omitempty"`

	entry *world.Entry
}

type endpointView struct {
	Address  string `json:"address"`
	Health   string `json:"health"`
	Weight   uint32 `json:"weight"`
	Priority uint32 `json:"priority"`
	Locality string `json:"locality,omitempty"`
}

func (a *app) runTree(ctx context.Context, f *sourceFlags, target string) error {
	s, err := a.open(ctx, f)
	if err != nil {
		return err
	}
	defer s.Close()
	roots, err := s.rootsOf(target)
	if err != nil {
		return err
	}
	if live, ok := s.World.(*world.Live); ok {
		live.Follow = true
	}
	g := grower{source: s, seen: make(map[string]bool), now: time.Now()}
	trees := make([]*branch, len(roots))
	for i, r := range roots {
		if trees[i], err = g.grow(ctx, r.typ, r.name); err != nil {
			return err
		}
	}
	p := a.printer()
	err = p.Print(trees, func() {
		for _, t := range trees {
			t.print(p, "", "")
		}
	})
	if err != nil {
		return err
	}
	if g.failed {
		return &exitError{code: exitRejected}
	}
	return nil
}

// A grower makes a tree.
type grower struct {
	source *source
	seen   map[string]bool
	now    time.Time
	failed bool
}

func (g *grower) grow(ctx context.Context, typ, name string) (*branch, error) {
	e, err := g.source.find(ctx, typ, name)
	if err != nil {
		return nil, err
	}
	b := &branch{entry: e}
	u, decodeErr := e.Decode(g.source.decoder)
	if decodeErr != nil && e.Error == "" {
		e.Error = "xdsctl cannot decode it: " + decodeErr.Error()
	}
	b.entryView = viewOf(e, g.now)
	g.failed = g.failed || e.Failed()
	key := typ + "/" + name
	if b.Repeated = g.seen[key]; b.Repeated || u == nil {
		return b, nil
	}
	if g.seen[key] = true; len(g.seen) > maxTree {
		return nil, fmt.Errorf("the tree has more than %d resources", maxTree)
	}
	b.Endpoints = endpointsOf(u)
	var refs []resource.Ref
	for r := range u.Refs() {
		if !slices.Contains(refs, r) {
			refs = append(refs, r)
		}
	}
	for _, r := range refs {
		child, err := g.grow(ctx, r.Type, r.Name.String())
		if err != nil {
			return nil, err
		}
		b.Children = append(b.Children, child)
	}
	return b, nil
}

// endpointsOf returns the endpoints of an assignment.
func endpointsOf(u resource.Update) []endpointView {
	assignment, ok := u.(*endpoint.Update)
	if !ok {
		return nil
	}
	var list []endpointView
	for i := range assignment.Localities {
		l := &assignment.Localities[i]
		for j := range l.Endpoints {
			x := &l.Endpoints[j]
			list = append(list, endpointView{
				Address: strings.Join(slices.Collect(x.Addresses()), ","), Health: x.Health.String(), Weight: x.Weight,
				Priority: l.Priority, Locality: localityText(l.ID),
			})
		}
	}
	return list
}

// localityText returns a locality as "region/zone/subzone", without empty ends.
func localityText(id endpoint.LocalityID) string {
	return strings.TrimRight(id.Region+"/"+id.Zone+"/"+id.SubZone, "/")
}

// print prints a tree. The first line has the first indent, and all others have the rest.
func (b *branch) print(p *output.Printer, first, rest string) {
	e := b.entry
	line := first + short(e.Type) + " " + p.Paint(output.Header, e.Name) + "  " + p.Paint(styleOf(e.State), e.State)
	if e.Version != "" {
		line += " " + output.Escape(e.Version)
	}
	if at := age(e.Updated, time.Now()); at != "" {
		line += p.Paint(output.Dim, " "+at)
	}
	if b.Repeated {
		line += p.Paint(output.Dim, " (see above)")
	}
	if e.Failed() {
		line += p.Paint(output.Bad, "  ← broken")
	}
	fmt.Fprintln(p.W, line)
	text := reason(e)
	if text == "" {
		text = e.Error
	}
	if text != "" {
		for _, l := range output.Wrap(output.Escape(text), p.Width-len(rest)-2) {
			fmt.Fprintln(p.W, rest+"  "+p.Paint(output.Bad, l))
		}
	}
	for i, x := range b.Endpoints {
		mark := branchMark(i == len(b.Endpoints)-1)
		text := fmt.Sprintf("%s  %s weight %d priority %d %s", x.Address, x.Health, x.Weight, x.Priority, x.Locality)
		fmt.Fprintln(p.W, rest+mark.first+output.Escape(strings.TrimSpace(text)))
	}
	for i, c := range b.Children {
		mark := branchMark(i == len(b.Children)-1)
		c.print(p, rest+mark.first, rest+mark.rest)
	}
}

type marks struct{ first, rest string }

func branchMark(last bool) marks {
	if last {
		return marks{"└─ ", "   "}
	}
	return marks{"├─ ", "│  "}
}
