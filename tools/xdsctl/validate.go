package xdsctl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/output"
)

// A validation is the result of the command validate.
type validation struct {
	Files     int       `json:"files"`
	Resources int       `json:"resources"`
	Rejected  int       `json:"rejected"`
	Problems  []problem `json:"problems"`
}

func (a *app) validate() *cobra.Command {
	var flags fileFlags
	var refs bool
	c := &cobra.Command{
		Use:   "validate FILE...",
		Short: "Check files as a client would, without a control plane",
		Long: `Validate decodes the resources of files by the decoders of the client, and prints each broken rule
with its position. It needs no network. A folder stands for all files below it.

A file is YAML, JSON, protobuf text or binary. It has a DiscoveryResponse, a DeltaDiscoveryResponse,
a Resource, a bare message or a bootstrap. A YAML file may have several documents. The file "-" is
the standard input.

With profile grpc, the rules are those of a gRPC channel of this module. With profile envoy, they are
those of protoc-gen-validate.`,
		Example: `  xdsctl validate listeners.yaml clusters.json
  xdsctl validate --refs config/
  xdsctl validate --type cds --format text cluster.txt
  xdsctl validate -o json bootstrap.json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.runValidate(&flags, refs, args) },
	}
	flags.add(c)
	c.Flags().BoolVar(&refs, "refs", false, "report references to resources that no file has, and resources that two files have")
	return c
}

func (a *app) runValidate(flags *fileFlags, refs bool, args []string) error {
	l, err := a.loader(flags)
	if err != nil {
		return err
	}
	files, err := expand(args)
	if err != nil {
		return err
	}
	all, err := l.load(files)
	if err != nil {
		return err
	}
	if refs {
		checkRefs(all)
	}
	v := validation{Files: len(files), Problems: []problem{}}
	for i := range all {
		r := &all[i]
		if r.typ != "" {
			v.Resources++
		}
		if r.failed() {
			v.Rejected++
		}
		v.Problems = append(v.Problems, r.problems...)
	}
	if err := a.printValidation(&v); err != nil {
		return err
	}
	if v.Rejected > 0 {
		return &exitError{code: exitRejected}
	}
	return nil
}

func (a *app) printValidation(v *validation) error {
	p := a.printer()
	return p.Print(v, func() {
		for i := range v.Problems {
			x := &v.Problems[i]
			style := output.Bad
			if x.Severity == severityWarning {
				style = output.Warn
			}
			fmt.Fprintf(p.W, "%s: %s: %s\n", p.Paint(output.Header, x.position()), p.Paint(style, x.Severity), output.Escape(x.text()))
		}
		style := output.Good
		if v.Rejected > 0 {
			style = output.Bad
		}
		p.Println(style, "%d files, %d resources, %d rejected", v.Files, v.Resources, v.Rejected)
	})
}

// checkRefs adds problems for references to resources that no file has, and for resources that are
// there twice.
func checkRefs(all []loaded) {
	type key struct{ typ, name string }
	first := make(map[key]*loaded)
	for i := range all {
		r := &all[i]
		if r.typ == "" || r.name == "" {
			continue
		}
		k := key{r.typ, r.name}
		if other, ok := first[k]; ok {
			line, column := r.item.Position("")
			where := other.file
			if l, c := other.item.Position(""); l > 0 {
				where = fmt.Sprintf("%s:%d:%d", where, l, c)
			}
			r.add(line, column, resource.Violation{Rule: "is also in " + where}, false)
			continue
		}
		first[k] = r
	}
	for i := range all {
		r := &all[i]
		if r.update == nil {
			continue
		}
		missing := make([]resource.Ref, 0)
		for ref := range r.update.Refs() {
			if _, ok := first[key{ref.Type, ref.Name.String()}]; !ok && !slices.Contains(missing, ref) {
				missing = append(missing, ref)
			}
		}
		slices.SortFunc(missing, func(a, b resource.Ref) int { return strings.Compare(a.String(), b.String()) })
		for _, ref := range missing {
			line, column := r.item.PositionOf(ref.Name.String())
			r.add(line, column, resource.Violation{Rule: fmt.Sprintf("refers to the %s %q, which no file has", short(ref.Type), ref.Name)}, false)
		}
	}
}
