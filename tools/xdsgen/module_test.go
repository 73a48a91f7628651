package main

import (
	"os"
	"path/filepath"

	"golang.org/x/mod/modfile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

// writeSet writes a descriptor set with one message that no Go package has.
func writeSet(path string) error {
	field := func(name string, number int32, t descriptorpb.FieldDescriptorProto_Type) *descriptorpb.FieldDescriptorProto {
		return &descriptorpb.FieldDescriptorProto{
			Name: new(name), Number: new(number), Type: t.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		}
	}
	data, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{{
		Name: new("acme/v1/thing.proto"), Package: new("acme.v1"), Syntax: new("proto3"),
		Options: &descriptorpb.FileOptions{GoPackage: new("acme.test/gen/v1;thingv1")},
		MessageType: []*descriptorpb.DescriptorProto{{Name: new("Thing"), Field: []*descriptorpb.FieldDescriptorProto{
			field("name", 1, descriptorpb.FieldDescriptorProto_TYPE_STRING), field("size", 2, descriptorpb.FieldDescriptorProto_TYPE_UINT32),
		}}},
	}}})
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

// copyModule turns dir into a module. It has the requirements of the module in root, and requires
// that module from its folder.
func copyModule(root, dir string) error {
	data, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return err
	}
	mod, err := modfile.Parse("go.mod", data, nil)
	if err != nil {
		return err
	}
	self := mod.Module.Mod.Path
	for _, tool := range mod.Tool {
		if err := mod.DropTool(tool.Path); err != nil {
			return err
		}
	}
	if err := mod.AddTool(self + "/tools/xdsgen"); err != nil {
		return err
	}
	if err := mod.AddModuleStmt("example.test/script"); err != nil {
		return err
	}
	if err := mod.AddRequire(self, "v0.0.0"); err != nil {
		return err
	}
	if err := mod.AddReplace(self, "", root, ""); err != nil {
		return err
	}
	if data, err = mod.Format(); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), data, 0o600); err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o600)
}
