package gen

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"google.golang.org/protobuf/compiler/protogen"

	"github.com/xdsforge/xdsforge/gen/internal/emit"
	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/protoindex"
	"github.com/xdsforge/xdsforge/gen/internal/schema"
)

// cases returns test cases for the rules about fields of the message itself. Each breaks one rule. A field
// with several rules has none, because one value could break more than one of them.
func (d *draft) cases(ctx context.Context, descriptor File, index *protoindex.Index, minimal map[string]any) ([]File, error) {
	path := filepath.Join(filepath.Dir(descriptor.Path), d.Package, "resource.yaml") // in a folder with the package's name
	in := Input{Descriptors: []Descriptor{{Path: path, Data: descriptor.Data}}, Index: index}
	packages, err := eachModel(ctx, in, func(_ *unit, pkg *model.Package) (*model.Package, error) { return pkg, nil })
	if err != nil || packages[0].Update.Rules == nil {
		return nil, err
	}
	checks := slices.DeleteFunc(packages[0].Update.Rules.Checks, func(c *model.Check) bool { return len(c.Path.Steps) == 0 })
	rules := make(map[string]int) // by field
	for _, c := range checks {
		rules[c.Path.Steps[0].Name()]++
	}
	var out []File
	for _, c := range checks {
		name := c.Path.Steps[0].Name()
		bad, ok := schema.Break(c)
		if !ok || rules[name] > 1 || name == d.NameField {
			continue
		}
		resource := maps.Clone(minimal)
		delete(resource, name)
		for _, f := range alternatives(c.Path.Last()) {
			delete(resource, string(f.Desc.Name()))
		}
		if bad.JSON != nil {
			resource[name] = bad.JSON
		}
		text, err := json.Marshal(resource)
		if err != nil {
			return nil, fmt.Errorf("gen: %w", err)
		}
		title := fmt.Sprintf("A value of %s that breaks its rule.\n", name)
		if d.NameField == "" {
			title += "-- name --\nexample\n"
		}
		out = append(out, File{
			Path: filepath.Join(filepath.Dir(descriptor.Path), "testdata", "wrong_"+name+".txtar"),
			Data: fmt.Appendf(nil, "%s-- resource.json --\n%s\n-- want --\n%s%s; %s\n", title, text, name, bad.Shown, emit.RuleText(c)),
		})
	}
	return out, nil
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
