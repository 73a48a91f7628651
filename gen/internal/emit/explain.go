package emit

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/diag"
	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// Explain describes the code that is generated from p: every struct with its fields, their
// Go types and sources, then rules, refs and hooks.
func Explain(p *model.Package) ([]byte, error) {
	x := newExplainer(p)
	w := tabwriter.NewWriter(&x.out, 0, 0, 2, ' ', 0)
	name := "the wrapper"
	if p.NameField != nil {
		name = string(p.NameField.Desc.Name())
	}
	fmt.Fprintf(&x.out, "package %s: %s, named by %s\n", p.Name, p.Message.Desc.FullName(), name)
	for _, s := range x.pkg.All() {
		x.structure(w, s)
	}
	for _, enum := range p.Enums {
		fmt.Fprintf(w, "\n%s\t%s\n", enum.Name, enum.Enum.Desc.FullName())
		for _, v := range enum.Values {
			fmt.Fprintf(w, "  %s\t%s\n", v.Name, v.Value.Desc.Name())
		}
	}
	x.rules(w)
	if len(p.Unruled) > 0 {
		fmt.Fprintf(w, "\nannotations without a rule\n  %s\n", strings.Join(p.Unruled, "\n  "))
	}
	if hooks := x.signatures(); len(hooks) > 0 {
		fmt.Fprintf(w, "\nhooks\n  %s\n", strings.Join(hooks, "\n  "))
	}
	if err := w.Flush(); err != nil {
		return nil, fmt.Errorf("emit: %w", err)
	}
	return blanks().ReplaceAll(x.out.Bytes(), []byte("\n")), x.err
}

func newExplainer(p *model.Package) *explainer {
	e := newEmitter(p)
	e.artefacts() // for the names of all imports
	x := &explainer{emitter: e, file: jen.NewFile(p.Name)}
	for _, i := range e.importTable() {
		x.file.ImportAlias(i.path, i.name)
	}
	return x
}

// blanks are those at the end of a line, where a row has no last cell.
func blanks() *regexp.Regexp { return regexp.MustCompile(` +\n`) }

// An explainer prints a package.
type explainer struct {
	*emitter
	out  bytes.Buffer
	file *jen.File // says how types are printed
	err  error     // the first
}

// typeSource returns a type as Go source.
func (x *explainer) typeSource(typ *jen.Statement) string {
	var b bytes.Buffer
	if err := jen.Op("var _").Add(typ).RenderWithFile(&b, x.file); err != nil && x.err == nil {
		x.err = fmt.Errorf("emit: %w", err)
	}
	return strings.TrimPrefix(b.String(), "var _ ")
}

// structure prints a struct.
func (x *explainer) structure(w *tabwriter.Writer, s *model.Struct) {
	fmt.Fprintf(w, "\n%s\t%s\n", s.Name, s.Message.Desc.FullName())
	if k := s.Keep; k != nil {
		switch {
		case k.Present != nil:
			fmt.Fprintf(w, "  kept if %s is set\n", k.Present.Path)
		case k.Positive != nil:
			fmt.Fprintf(w, "  kept if %s is positive\n", k.Positive.Name)
		default:
			fmt.Fprintf(w, "  kept if %s is not empty\n", k.NonEmpty.Name)
		}
		if k.Profile != "" {
			fmt.Fprintf(w, "  (all are kept where the profile is not %s)\n", k.Profile)
		}
	}
	if s.Stop != nil {
		fmt.Fprintf(w, "  nothing behind %s is read if it is not empty\n", s.Stop.NonEmpty.Name)
		if s.Stop.Profile != "" {
			fmt.Fprintf(w, "  (all is read where the profile is not %s)\n", s.Stop.Profile)
		}
	}
	for _, f := range s.Fields {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", f.Name, x.typeSource(x.goType(f)), strings.Join(source(f), "; "))
		if v, ok := f.Value.(model.OneofOf); ok {
			for _, c := range v.Oneof.Cases {
				fmt.Fprintf(w, "  \t  %s\t%s\n", c.Type, caseSource(c))
			}
		}
	}
}

// source describes the source of a field's value and its conversions.
func source(f *model.Field) []string {
	var out []string
	from := strings.Join(Texts(f.Paths), ", ")
	switch v := f.Value.(type) {
	case model.Converted:
		out = append(out, "as "+v.Conversion.Name)
	case model.StructOf:
		if v.Any != nil {
			out = append(out, "in an Any: "+string(v.Any.Desc.FullName()))
		}
	case model.EnumOf:
		if v.Enum.Otherwise != nil {
			out = append(out, "any other number is "+v.Enum.Otherwise.Name)
		}
	case model.HookOf:
		from = "returned by " + v.Hook.Func + "(" + strings.Join(Texts(v.Hook.Needs), ", ") + ")"
	case model.InlineOf:
		out = append(out, "an inlined "+string(v.Message.Desc.FullName()))
	}
	switch {
	case f.SelfName:
		out = append(out, "default: the resource's name")
	case f.Default != nil:
		out = append(out, "default: "+f.Default.Text)
	}
	if f.Ref != "" {
		out = append(out, "names "+diag.Article(f.Ref))
	}
	if text := withReason("", f.When, ""); text != "" {
		out = append(out, strings.TrimSpace(text))
	}
	if from == "" {
		return out
	}
	return append([]string{from}, out...)
}

// caseSource describes the condition and the source of a case.
func caseSource(c *model.Case) string {
	var out []string
	if c.Path != nil {
		out = append(out, c.Path.String())
	}
	if c.Any != nil {
		out = append(out, "in an Any: "+string(c.Any.Desc.FullName()))
	}
	if c.Hook != nil {
		out = append(out, "returned by "+c.Hook.Func)
	}
	if c.When.Empty() {
		out = append(out, "always")
	}
	return strings.TrimSpace(strings.Join(out, "; ") + withReason("", c.When, ""))
}

// rules prints the rules in the order of their violations.
func (x *explainer) rules(w *tabwriter.Writer) {
	rows := x.ruleRows()
	if len(rows) > 0 {
		fmt.Fprint(w, "\nrules\n")
	}
	for _, r := range rows {
		line := r.text
		if r.at != "" {
			line = r.at + "; " + line
		}
		switch {
		case r.hook && r.profile != "":
			line += " in profile " + r.profile
		case r.why != "":
			line += " (" + r.why + ")"
		}
		fmt.Fprintf(w, "  %s%s\n", r.prefix, line)
	}
}

// A ruleRow is a rule or hook as it is shown to people.
type ruleRow struct {
	prefix        string // the struct of the rule and a colon; empty for the update
	at            string
	text, profile string
	why           string
	hook          bool
}

// ruleRows returns the rules in the order of their violations.
func (x *explainer) ruleRows() []ruleRow {
	var rows []ruleRow
	for _, s := range x.pkg.All() {
		if s.Rules != nil {
			prefix := ""
			if s != x.pkg.Update {
				prefix = s.Name + ": "
			}
			rows = append(rows, scopeRules(s.Rules, prefix, nil)...)
		}
	}
	return append(rows, scopeRules(&model.Scope{Checks: x.pkg.GoChecks}, "", nil)...)
}

// scopeRules are the rules about a message and those in its repeated fields.
func scopeRules(s *model.Scope, prefix string, at []string) []ruleRow {
	rows := make([]ruleRow, 0, len(s.Checks))
	for _, c := range s.Checks {
		path := slices.DeleteFunc(slices.Concat(at, []string{c.Path.String(), c.Go.String()}), func(name string) bool { return name == "" })
		r := ruleRow{prefix: prefix, at: strings.Join(path, "."), text: "hook " + c.Hook.Func, profile: c.When.Profile, hook: true}
		if c.Rule != nil {
			r.text, r.profile, r.why, r.hook = withReason(c.Rule.Wording(), c.Stated, ""), c.Stated.Profile, c.Why, false
		}
		rows = append(rows, r)
	}
	for _, u := range s.Under {
		rows = append(rows, scopeRules(u.Scope, prefix, append(slices.Clone(at), u.Path.String()))...)
	}
	return rows
}

// signatures are the hooks, each once.
func (x *explainer) signatures() []string {
	var out []string
	for _, h := range x.hooks() {
		if signature := strings.Replace(x.typeSource(h.typ), "func(", "func "+h.name+"(", 1); !slices.Contains(out, signature) {
			out = append(out, signature)
		}
	}
	return out
}
