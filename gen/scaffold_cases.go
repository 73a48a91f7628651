package gen

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/schema"
)

// mostCases is the number of test cases of a new package, about, beside the one without violations. It is
// enough for all messages of Envoy but its largest ones. Fields of outer messages come first.
const mostCases = 500

// A ruled is a field or oneof of the resource, or of a message in it, with the rules about it.
type ruled struct {
	path   []model.Step // from the resource
	checks []*model.Check
}

// name is the path as violations have it, without indexes.
func (r ruled) name() string { return model.Path{Steps: r.path}.InViolation() }

// cases returns test cases for the rules of the descriptor. For each rule, one case breaks it and no
// other. For each field with such cases, one case breaks no rule, unless the case without violations has
// its value. A rule for which no such value is known has no case: one that only generated code can check,
// such as a sum or `unique` with paths, a limit of entries of a map that is above 12, and `annotated`, whose
// violations have texts of protoc-gen-validate.
func (d *draft) cases(folder string) []File {
	w := caseWriter{draft: d, folder: folder, taken: make(model.Names)}
	fields := ruledFields(nil, d.rules, nil)
	slices.SortStableFunc(fields, func(a, b ruled) int { return cmp.Compare(len(a.path), len(b.path)) })
	for _, f := range fields {
		if len(w.files) < mostCases {
			w.field(f)
		}
	}
	return w.files
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
	taken  model.Names // of files
	files  []File
}

// field adds the cases of a field.
func (w *caseWriter) field(r ruled) {
	valid := proto.CloneOf(w.minimal)
	schema.Set(valid, r.path, nil)
	if !schema.Repair(w.whole, valid) {
		return
	}
	broken := make(map[*model.Check]bool)
	var right *dynamicpb.Message
	try := func(x any) {
		resource := proto.CloneOf(valid)
		if !schema.Set(resource, r.path, x) {
			return
		}
		schema.Repair(w.whole, resource, r.checks...) // the values that this one requires
		verdict, whole := schema.Evaluate(w.rules, resource), schema.Evaluate(w.whole, resource)
		switch {
		case whole.Opaque, asJSON(resource) == "":
		case slices.ContainsFunc(verdict.Unknown, func(c *model.Check) bool { return slices.Contains(r.checks, c) }):
		case len(verdict.Violations) != len(whole.Violations): // an annotation without a rule decides, too
		case len(verdict.Violations) == 0 && x != nil && right == nil:
			right = resource
		case len(verdict.Violations) == 1 && slices.Contains(r.checks, verdict.Violations[0].Check) && !broken[verdict.Violations[0].Check]:
			broken[verdict.Violations[0].Check] = true
			w.add("wrong_", r, "A value of %s that breaks a rule.", resource, verdict.Violations[0].Text)
		}
	}
	for _, x := range schema.Candidates(r.path[len(r.path)-1], r.checks) {
		try(x)
	}
	if right == nil {
		return
	}
	for _, x := range schema.Long(right, r.path, r.checks) {
		try(x)
	}
	if len(broken) > 0 && asJSON(right) != w.Minimal {
		w.add("right_", r, "A value of %s that breaks no rule.", right, "ok")
	}
}

// add adds a case about a field.
func (w *caseWriter) add(prefix string, about ruled, title string, resource *dynamicpb.Message, want string) {
	path := about.name()
	name := w.taken.Take(prefix + strings.ReplaceAll(path, ".", "_"))
	title = fmt.Sprintf(title, path)
	if w.NameField == "" || path == w.NameField {
		title += "\n-- name --\nexample"
	}
	w.files = append(w.files, File{
		Path: filepath.Join(w.folder, "testdata", name+".txtar"),
		Data: fmt.Appendf(nil, "%s\n-- resource.json --\n%s\n-- want --\n%s\n", title, asJSON(resource), want),
	})
}

// asJSON is a message in JSON, with sorted keys and without the varying blanks of protojson. It is empty if JSON cannot
// express the message: a google.protobuf.Value without a value.
func asJSON(m *dynamicpb.Message) string {
	var fields any // the JSON of some messages of google.protobuf is no object
	text, err := protojson.MarshalOptions{UseProtoNames: true, AllowPartial: true}.Marshal(m)
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err == nil {
		text, err = json.Marshal(fields)
	}
	if err != nil {
		return ""
	}
	return string(text)
}
