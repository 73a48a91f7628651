package emit_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/gen"
)

const head = `version: v1
resource:
  message: xdsforge.test.v1.Table
  go: github.com/xdsforge/xdsforge/gen/testdata/testpb
  decoder: wire
  name: name
  sotw: partial
`

// Generated code names fields and methods that exist.
func TestNames(t *testing.T) {
	for _, c := range []struct{ name, descriptor, file, want string }{
		{
			name:       "the oneof of a message that protobuf unmarshals",
			descriptor: "fields: [{name: Value, from: value, when: {present: value.kind}}]\n",
			file:       "decoder.gen.go", want: "if m.GetValue().GetKind() != nil {",
		},
		{
			name: "a hidden field as a unique key",
			descriptor: "fields: [{name: Tables, from: tables, each: Table}]\n" +
				"structs: {Table: {fields: [{name: ID, from: name, hidden: true}]}}\n" +
				"rules: [{at: Tables, unique: [ID]}]\n",
			file: "validator.gen.go", want: "if seen.Before(x.id) {",
		},
	} {
		in := gen.Input{Descriptors: []gen.Descriptor{{Path: "../outputtest/resource.yaml", Data: []byte(head + c.descriptor)}}}
		files, err := gen.Generate(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		var code string
		for _, f := range files {
			if filepath.Base(f.Path) == c.file {
				code = string(f.Data)
			}
		}
		if !strings.Contains(code, c.want) {
			t.Errorf("%s: the code has no %q:\n%s", c.name, c.want, code)
		}
	}
}
