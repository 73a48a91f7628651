package gen_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/gen"
	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
	"github.com/xdsforge/xdsforge/gen/internal/rule"
)

// guideDescriptors are the whole descriptors in the authors' guide.
func guideDescriptors(t testing.TB) []string {
	t.Helper()
	data, err := os.ReadFile("../docs/plugin-authors.md")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, block := range strings.Split(string(data), "```yaml\n")[1:] {
		text, _, _ := strings.Cut(block, "```")
		out = append(out, text)
	}
	if len(out) < 5 {
		t.Fatalf("only %d descriptors were found", len(out))
	}
	return out
}

// Every whole descriptor in the authors' guide can be generated from.
func TestGuide(t *testing.T) {
	for i, text := range guideDescriptors(t) {
		path := filepath.Join(t.TempDir(), "guide", "resource.yaml")
		index := loadFor(t, []byte(text))
		if _, err := gen.Generate(t.Context(), gen.Input{Descriptors: []gen.Descriptor{{Path: path, Data: []byte(text)}}, Index: index}); err != nil {
			t.Errorf("descriptor %d: %v\n%s", i+1, err, text)
		}
	}
}

// Every type and field in the descriptors of this repository's plugins has a doc line.
func TestDocumented(t *testing.T) {
	for _, d := range goldens(t) {
		if strings.HasPrefix(d.Path, "internal/outputtest") {
			continue
		}
		bag := &diag.Bag{File: d.Path}
		tree := rule.Language().Parse(d.Data, bag)
		if bag.Len() > 0 {
			t.Fatal(bag.Errors())
		}
		has := func(doc descriptor.Text, at diag.Pos, what, name string) {
			if !doc.Given() {
				t.Errorf("%s:%d: %s %s has no doc", d.Path, at.Line, what, name)
			}
		}
		var fields func([]descriptor.Field)
		fields = func(list []descriptor.Field) {
			for _, f := range list {
				has(f.Doc, f.Pos, "field", f.Name.Value)
				for _, c := range f.Oneof {
					if !c.Struct.Given() && !c.Hook.Given() {
						has(c.Doc, c.Pos, "case", c.Case.Value)
					}
					fields(c.Fields)
				}
			}
		}
		has(tree.Resource.Doc, tree.Resource.Pos, "resource", tree.Resource.Message.Value)
		fields(tree.Fields)
		for _, s := range tree.Structs {
			has(s.Doc, s.Name.Pos, "struct", s.Name.Value)
			fields(s.Fields)
		}
	}
}
