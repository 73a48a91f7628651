package gen

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"

	"google.golang.org/protobuf/compiler/protogen"

	"github.com/xdsforge/xdsforge/gen/internal/emit"
	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/protoindex"
	"github.com/xdsforge/xdsforge/gen/internal/schema"
)

// cases returns test cases for the rules about fields of the message itself. For each rule, one case
// breaks it and no other. For each of these fields, one case breaks no rule, unless the value is in the case
// without violations. A rule for which no such value is known has no case.
func (d *draft) cases(ctx context.Context, descriptor File, index *protoindex.Index) ([]File, error) {
	path := filepath.Join(filepath.Dir(descriptor.Path), d.Package, "resource.yaml") // in a folder with the package's name
	in := Input{Descriptors: []Descriptor{{Path: path, Data: descriptor.Data}}, Index: index}
	packages, err := eachModel(ctx, in, func(_ *unit, pkg *model.Package) (*model.Package, error) { return pkg, nil })
	if err != nil || packages[0].Update.Rules == nil {
		return nil, err
	}
	fields := make(map[string][]*model.Check)
	for _, c := range packages[0].Update.Rules.Checks {
		if len(c.Path.Steps) > 0 {
			fields[c.Path.Steps[0].Name()] = append(fields[c.Path.Steps[0].Name()], c)
		}
	}
	var out []File
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if name == d.NameField {
			continue
		}
		checks, wrong := fields[name], 0
		for i, c := range checks {
			bad, ok := schema.Break(c, slices.Concat(checks[:i], checks[i+1:]))
			if !ok {
				continue
			}
			wrong++
			file, want := "wrong_"+name, name+bad.Shown+"; "+emit.RuleText(c)
			if wrong > 1 {
				file += strconv.Itoa(wrong)
			}
			out = append(out, d.testCase(descriptor, file, fmt.Sprintf("A value of %s that breaks its rule.", name), c, bad.JSON, want))
		}
		if good, ok := schema.Keep(checks); ok && wrong > 0 && good != d.minimal[name] {
			out = append(out, d.testCase(descriptor, "right_"+name, fmt.Sprintf("A value of %s that breaks no rule.", name), checks[0], good, "ok"))
		}
	}
	return out, nil
}

// testCase returns a test case whose resource has a value in the field of a check, none if it is nil.
func (d *draft) testCase(descriptor File, file, title string, c *model.Check, value any, want string) File {
	resource := maps.Clone(d.minimal)
	name := c.Path.Steps[0].Name()
	delete(resource, name)
	for _, f := range alternatives(c.Path.Last()) {
		delete(resource, string(f.Desc.Name()))
	}
	if value != nil {
		resource[name] = value
	}
	text, _ := json.Marshal(resource) // texts, numbers, maps and slices
	if d.NameField == "" {
		title += "\n-- name --\nexample"
	}
	return File{
		Path: filepath.Join(filepath.Dir(descriptor.Path), "testdata", file+".txtar"),
		Data: fmt.Appendf(nil, "%s\n-- resource.json --\n%s\n-- want --\n%s\n", title, text, want),
	}
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
