package emit_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

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

// The entries of a map have presence in proto2. A condition on its keys or values tests whether there are any.
func TestConditionOnMapOfProto2(t *testing.T) {
	text := func(name string, number int32) *descriptorpb.FieldDescriptorProto {
		return &descriptorpb.FieldDescriptorProto{
			Name: new(name), Number: new(number), Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		}
	}
	labels := &descriptorpb.FieldDescriptorProto{
		Name: new("labels"), Number: new(int32(2)), Type: descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), TypeName: new(".acme.Thing.LabelsEntry"),
		Label: descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum(),
	}
	set, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{{
		Name: new("acme.proto"), Package: new("acme"), Syntax: new("proto2"), Options: &descriptorpb.FileOptions{GoPackage: new("acme.test/acme")},
		MessageType: []*descriptorpb.DescriptorProto{{
			Name: new("Thing"), Field: []*descriptorpb.FieldDescriptorProto{text("name", 1), labels, text("text", 3)},
			NestedType: []*descriptorpb.DescriptorProto{{
				Name: new("LabelsEntry"), Options: &descriptorpb.MessageOptions{MapEntry: new(true)}, Field: []*descriptorpb.FieldDescriptorProto{text("key", 1), text("value", 2)},
			}},
		}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	const descriptor = `version: v1
resource: {message: acme.Thing, go: acme.test/acme, decoder: wire, name: name, sotw: partial}
fields: [{name: Text, from: text, when: {present: labels.value}}]
`
	files, err := gen.Generate(t.Context(), gen.Input{Descriptors: []gen.Descriptor{{Path: "../outputtest/resource.yaml", Data: []byte(descriptor)}}, Sets: [][]byte{set}})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(files, func(f gen.File) bool { return filepath.Base(f.Path) == "decoder.gen.go" })
	if code := string(files[i].Data); !strings.Contains(code, "if len(m.GetLabels()) > 0 {") {
		t.Errorf("the condition is not whether there are labels:\n%s", code)
	}
}
