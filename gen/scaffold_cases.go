package gen

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"

	"github.com/xdsforge/xdsforge/gen/internal/annotation"
	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/protoindex"
	"github.com/xdsforge/xdsforge/gen/internal/schema"
)

// mostCases is the number of test cases of a new package, about, beside the one without violations.
// Fields of outer messages come first.
const mostCases = 200

// A ruled is a field or oneof of the resource, or of a message in it, with the rules about it.
type ruled struct {
	path   []model.Step // from the resource
	checks []*model.Check
}

// name is the path as violations have it, without indexes.
func (r ruled) name() string { return model.Path{Steps: r.path}.InViolation() }

// cases returns test cases for the rules of the descriptor. For each rule, one case breaks it and no
// other. For each field with such cases, one case breaks no rule, unless the case without violations has
// its value. A rule for which no such value is known has no case.
func (d *draft) cases(ctx context.Context, descriptor File, index *protoindex.Index) ([]File, error) {
	path := filepath.Join(filepath.Dir(descriptor.Path), d.Package, "resource.yaml") // in a folder with the package's name
	in := Input{Descriptors: []Descriptor{{Path: path, Data: descriptor.Data}}, Index: index}
	packages, err := eachModel(ctx, in, func(_ *unit, pkg *model.Package) (*model.Package, error) { return pkg, nil })
	if err != nil || packages[0].Update.Rules == nil {
		return nil, err
	}
	w := caseWriter{draft: d, folder: filepath.Dir(descriptor.Path), index: index, rules: packages[0].Update.Rules, taken: make(map[string]bool)}
	fields := ruledFields(nil, w.rules, nil)
	slices.SortStableFunc(fields, func(a, b ruled) int { return cmp.Compare(len(a.path), len(b.path)) })
	for _, f := range fields {
		if f.name() != d.NameField && len(w.files) < mostCases {
			w.field(f)
		}
	}
	sortFiles(w.files)
	return w.files, nil
}

// ruledFields adds the fields of a message at a path, and of the messages in it, to others.
func ruledFields(to []ruled, s *model.Scope, at []model.Step) []ruled {
	for _, c := range s.Checks {
		if c.Rule == nil || len(c.Path.Steps) == 0 {
			continue
		}
		r := ruled{slices.Concat(at, c.Path.Steps), []*model.Check{c}}
		if i := slices.IndexFunc(to, func(o ruled) bool { return o.name() == r.name() }); i >= 0 {
			to[i].checks = append(to[i].checks, c)
		} else {
			to = append(to, r)
		}
	}
	for _, u := range s.Under {
		to = ruledFields(to, u.Scope, slices.Concat(at, u.Path.Steps))
	}
	return to
}

// A caseWriter writes the test cases of a new package.
type caseWriter struct {
	*draft
	folder string
	index  *protoindex.Index
	rules  *model.Scope
	taken  map[string]bool // names of files
	files  []File
}

// field adds the cases of a field.
func (w *caseWriter) field(r ruled) {
	last := r.path[len(r.path)-1]
	candidates := []any{nil}
	if f := last.Field; f != nil {
		candidates = schema.Candidates(f, r.checks, annotation.Some(f, w.index.Message))
	}
	broken := make(map[*model.Check]bool)
	var right map[string]any
	for _, x := range candidates {
		resource := w.with(r.path, x)
		verdict := schema.Evaluate(w.rules, resource)
		switch {
		case slices.ContainsFunc(verdict.Unknown, func(c *model.Check) bool { return slices.Contains(r.checks, c) }):
		case len(verdict.Violations) == 0 && x != nil && right == nil:
			right = resource
		case len(verdict.Violations) == 1 && slices.Contains(r.checks, verdict.Violations[0].Check) && !broken[verdict.Violations[0].Check]:
			broken[verdict.Violations[0].Check] = true
			w.add("wrong_", r.name(), "A value of %s that breaks a rule.", resource, verdict.Violations[0].Text)
		}
	}
	if text, _ := json.Marshal(right); len(broken) > 0 && right != nil && string(text) != w.Minimal {
		w.add("right_", r.name(), "A value of %s that breaks no rule.", right, "ok")
	}
}

// add adds a case about the field at a path.
func (w *caseWriter) add(prefix, path, title string, resource map[string]any, want string) {
	name := prefix + strings.ReplaceAll(path, ".", "_")
	for i := 2; w.taken[name]; i++ {
		name = prefix + strings.ReplaceAll(path, ".", "_") + strconv.Itoa(i)
	}
	w.taken[name] = true
	title = fmt.Sprintf(title, path)
	if w.NameField == "" {
		title += "\n-- name --\nexample"
	}
	text, _ := json.Marshal(resource) // texts, numbers, maps and slices
	w.files = append(w.files, File{
		Path: filepath.Join(w.folder, "testdata", name+".txtar"),
		Data: fmt.Appendf(nil, "%s\n-- resource.json --\n%s\n-- want --\n%s\n", title, text, want),
	})
}

// with returns the resource without violations, but with a value at a path, or without one if it is nil.
// Lists and maps on the way have one element.
func (w *caseWriter) with(path []model.Step, x any) map[string]any {
	resource := decoded(w.minimal)
	m := resource
	for i, s := range path {
		name, last := s.Name(), i == len(path)-1
		if s.Field != nil {
			name = string(s.Field.Desc.Name())
		}
		old := m[name]
		for _, f := range alternatives(s) {
			delete(m, string(f.Desc.Name()))
		}
		switch {
		case last && x == nil:
			delete(m, name)
		case last:
			m[name] = x
		case old != nil:
			m[name] = old
		case s.Part != nil:
			m[name] = map[string]any{"example": annotation.Some(s.Field, w.index.Message)}
		case s.Repeated():
			m[name] = []any{annotation.Some(s.Field, w.index.Message)}
		default:
			m[name] = annotation.Some(s.Field, w.index.Message)
		}
		if !last {
			m = inner(s, m[name])
		}
	}
	return decoded(resource)
}

// inner is the message that a step leads to: of a list the first one, of a map one of its values.
func inner(s model.Step, x any) map[string]any {
	switch {
	case s.Part != nil:
		entries := x.(map[string]any)
		x = entries[slices.Sorted(maps.Keys(entries))[0]]
	case s.Repeated():
		x = x.([]any)[0]
	}
	return x.(map[string]any)
}

// decoded is a copy of a message as encoding/json decodes it.
func decoded(m map[string]any) map[string]any {
	text, _ := json.Marshal(m) // texts, numbers, maps and slices
	out := make(map[string]any)
	_ = json.Unmarshal(text, &out)
	return out
}

// alternatives are the members of the oneof that a step leads to, or that its field is in.
func alternatives(s model.Step) []*protogen.Field {
	switch {
	case s.Field == nil:
		return s.Oneof.Fields
	case s.Field.Oneof != nil:
		return s.Field.Oneof.Fields
	}
	return nil
}
