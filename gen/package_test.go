package gen_test

import (
	"errors"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/xdsforge/xdsforge/gen"
)

// twoFiles is a descriptor set. The file of the inner message and enum has no go_package.
const twoFiles = `
file {
  name: "inner.proto" package: "acme" syntax: "proto3"
  message_type { name: "Inner" field { name: "id" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL json_name: "id" } }
  enum_type { name: "Mode" value { name: "MODE_NONE" number: 0 } }
}
file {
  name: "outer.proto" package: "acme" syntax: "proto3" dependency: "inner.proto" options { go_package: "acme.example/outer" }
  message_type {
    name: "Outer"
    field { name: "name" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL json_name: "name" }
    field { name: "inner" number: 2 type: TYPE_MESSAGE type_name: ".acme.Inner" label: LABEL_OPTIONAL json_name: "inner" }
    field { name: "mode" number: 3 type: TYPE_ENUM type_name: ".acme.Mode" label: LABEL_OPTIONAL json_name: "mode" }
  }
}`

const twoFilesHead = `version: v1
resource: {message: acme.Outer, go: acme.example/outer, name: name, sotw: partial}
fields:
  - {name: Title, from: name}
`

// Code that needs a type of a file without go_package is an error at the field that leads to the file, or at
// the message if only a rule needs the type.
func TestUnknownPackage(t *testing.T) {
	set := new(descriptorpb.FileDescriptorSet)
	if err := prototext.Unmarshal([]byte(twoFiles), set); err != nil {
		t.Fatal(err)
	}
	encoded, err := proto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	const text = "no Go package is known for inner.proto, of which the code needs a type: it has no go_package (name the package in the key `go` of a struct with `message`) [XG011]"
	for name, test := range map[string]struct{ rest, want string }{
		"struct": {"  - {name: Inner, from: inner, struct: Inner}\nstructs:\n  Inner: {fields: [{name: ID, from: id}]}\n", "resource.yaml:5:12: " + text},
		"enum":   {"  - {name: Mode, from: mode, enum: all}\n", "resource.yaml:5:12: " + text},
		"rule":   {"rules:\n  - {at: inner.id, required: true}\n  - {at: mode, in: MODE_NONE}\n", "resource.yaml:2:21: " + text},
		"path":   {"  - {name: ID, from: inner.id}\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := gen.Input{Sets: [][]byte{encoded}, Descriptors: []gen.Descriptor{{Path: "resource.yaml", Data: []byte(twoFilesHead + test.rest)}}}
			_, err := gen.Generate(t.Context(), in)
			var faults gen.DiagnosticsError
			if err != nil && !errors.As(err, &faults) || faults.Error() != test.want {
				t.Errorf("diagnostics %q, error %v; want %q", faults.Error(), err, test.want)
			}
		})
	}
}
