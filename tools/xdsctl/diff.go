package xdsctl

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/output"
	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/world"
)

func (a *app) diff() *cobra.Command {
	var f sourceFlags
	c := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare the resources of two processes, or of a process and files",
		Long: `Diff compares states and contents of resources. A and B are addresses of processes with CSDS, files or
folders. It ignores versions, because control planes choose them freely.

The exit code is 2 if there is a difference.`,
		Example: `  xdsctl diff web-1:5555 web-2:5555
  xdsctl diff localhost:5555 config/`,
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error { return a.runDiff(c.Context(), &f, args[0], args[1]) },
	}
	f.files.add(c)
	f.conn.add(c)
	c.Flags().BoolVar(&f.secrets, "show-secrets", false, "compare and show fields that are marked as sensitive")
	return c
}

// A difference is a resource that differs.
type difference struct {
	Type   string `json:"type"`
	Name   string `json:"name"`
	Change string `json:"change"`
	StateA string `json:"state_a,omitempty"`
	StateB string `json:"state_b,omitempty"`
	Diff   string `json:"diff,omitempty"`
}

type comparison struct {
	Equal       int          `json:"equal"`
	Differences []difference `json:"differences"`
}

func (a *app) runDiff(ctx context.Context, f *sourceFlags, left, right string) error {
	var sides [2]*source
	for i, arg := range []string{left, right} {
		one := *f
		one.addr, one.paths = arg, nil
		if isFile(arg) {
			one.addr, one.paths = "", []string{arg}
		}
		s, err := a.open(ctx, &one)
		if err != nil {
			return err
		}
		sides[i] = s
	}
	c, err := compare(sides[0], sides[1], left, right)
	if err != nil {
		return err
	}
	p := a.printer()
	if err := p.Print(c, func() { c.print(p, left, right) }); err != nil {
		return err
	}
	if len(c.Differences) > 0 {
		return &exitError{code: exitRejected}
	}
	return nil
}

type resourceKey struct{ typ, name string }

// compare compares all resources. Of several clients in a process, the first one with a resource is
// compared.
func compare(a, b *source, nameA, nameB string) (*comparison, error) {
	left, right := index(a.entries), index(b.entries)
	c := &comparison{Differences: []difference{}}
	for _, e := range a.entries {
		k := resourceKey{e.Type, e.Name}
		if left[k] != e {
			continue
		}
		other := right[k]
		if other == nil {
			c.Differences = append(c.Differences, difference{Type: e.Type, Name: e.Name, Change: "only in " + nameA, StateA: e.State})
			continue
		}
		d, err := contents(a, b, e, other, nameA, nameB)
		if err != nil {
			return nil, err
		}
		if d == nil {
			c.Equal++
			continue
		}
		c.Differences = append(c.Differences, *d)
	}
	for _, e := range b.entries {
		k := resourceKey{e.Type, e.Name}
		if right[k] == e && left[k] == nil {
			c.Differences = append(c.Differences, difference{Type: e.Type, Name: e.Name, Change: "only in " + nameB, StateB: e.State})
		}
	}
	return c, nil
}

func index(list world.Static) map[resourceKey]*world.Entry {
	m := make(map[resourceKey]*world.Entry, len(list))
	for _, e := range slices.Backward(list) {
		m[resourceKey{e.Type, e.Name}] = e
	}
	return m
}

// contents compares two resources. It returns nil if they are equal.
func contents(a, b *source, left, right *world.Entry, nameA, nameB string) (*difference, error) {
	d := difference{Type: left.Type, Name: left.Name, StateA: left.State, StateB: right.State, Change: "content"}
	texts := [2]string{}
	for i, side := range []struct {
		s *source
		e *world.Entry
	}{{a, left}, {b, right}} {
		if side.e.Content == nil {
			continue
		}
		text, err := output.ToYAML(side.s.content(side.e.Content))
		if err != nil {
			return nil, err
		}
		texts[i] = text
	}
	d.Diff = string(diff.Diff(nameA, []byte(texts[0]), nameB, []byte(texts[1])))
	switch {
	case d.Diff == "" && left.State == right.State:
		return nil, nil //nolint:nilnil // there is no difference
	case d.Diff == "":
		d.Change = "state"
	}
	return &d, nil
}

func (c *comparison) print(p *output.Printer, nameA, nameB string) {
	for _, d := range c.Differences {
		line := fmt.Sprintf("%s %q: %s", short(d.Type), d.Name, d.Change)
		if d.StateA != d.StateB && d.StateA != "" && d.StateB != "" {
			line += fmt.Sprintf(", %s in %s and %s in %s", d.StateA, nameA, d.StateB, nameB)
		}
		p.Println(output.Header, "%s", line)
		_, body, _ := strings.Cut(d.Diff, "\n") // the first line names the command
		for l := range bytes.Lines([]byte(body)) {
			style := output.Plain
			switch l[0] {
			case '+':
				style = output.Good
			case '-':
				style = output.Bad
			}
			fmt.Fprintln(p.W, "    "+p.Paint(style, strings.TrimSuffix(string(l), "\n")))
		}
	}
	p.Println(output.Plain, "%d equal, %d different", c.Equal, len(c.Differences))
}
