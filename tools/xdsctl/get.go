package xdsctl

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/output"
	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/world"
)

func (a *app) get() *cobra.Command {
	var f sourceFlags
	c := &cobra.Command{
		Use:   "get TYPE NAME",
		Short: "Print a resource",
		Long: `Get prints a resource with its state, version and error. A type is lds, rds, cds, eds, or the full name
of a message. Messages of unknown types are shown with their size.

` + sourceHelp,
		Example: `  xdsctl get cds checkout --conn localhost:5555
  xdsctl get lds checkout --file config/ -o json
  xdsctl get eds checkout --bootstrap bootstrap.json`,
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			return a.runGet(c.Context(), &f, fullName(args[0]), args[1])
		},
	}
	f.add(c)
	return c
}

func (a *app) runGet(ctx context.Context, f *sourceFlags, typ, name string) error {
	s, err := a.open(ctx, f)
	if err != nil {
		return err
	}
	defer s.Close()
	e, err := s.find(ctx, typ, name)
	if err != nil {
		return err
	}
	v := viewOf(e, time.Now())
	v.Content, v.Rejected = s.content(e.Content), s.content(e.Rejected)
	p := a.printer()
	if err := p.Print(v, func() { err = printEntry(p, e, &v) }); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	if e.Failed() {
		return &exitError{code: exitRejected}
	}
	return nil
}

// content returns a resource as JSON, or nil for none.
func (s *source) content(a *anypb.Any) any {
	if a == nil {
		return nil
	}
	text, err := s.viewer.JSON(a)
	if err != nil {
		return map[string]any{"@type": a.GetTypeUrl(), "unreadable": err.Error(), "bytes": len(a.GetValue())}
	}
	return text
}

// printEntry prints a resource as comments and YAML.
func printEntry(p *output.Printer, e *world.Entry, v *entryView) error {
	line := fmt.Sprintf("# %s %q: %s", short(e.Type), e.Name, e.State)
	if e.Version != "" {
		line += ", version " + e.Version
	}
	if at := age(e.Updated, time.Now()); at != "" {
		line += ", " + at + " old"
	}
	if e.Where != "" {
		line += ", of " + e.Where
	}
	p.Println(styleOf(e.State), "%s", line)
	if text := reason(e); text != "" {
		for _, l := range output.Wrap(output.Escape(text), p.Width-2) {
			p.Println(output.Bad, "# %s", l)
		}
	}
	for _, part := range []struct {
		title   string
		content any
	}{{"", v.Content}, {"# the rejected resource:", v.Rejected}} {
		if part.content == nil {
			continue
		}
		text, err := output.ToYAML(part.content)
		if err != nil {
			return err
		}
		if part.title != "" {
			p.Println(output.Bad, "%s", part.title)
		}
		fmt.Fprint(p.W, text)
	}
	return nil
}
