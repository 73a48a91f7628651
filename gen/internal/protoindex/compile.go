package protoindex

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// closure adds the file and everything it imports to complete.
func closure(files map[string]file, path string, complete map[string]file) error {
	if _, ok := complete[path]; ok {
		return nil
	}
	f := files[path]
	for _, dep := range f.proto.GetDependency() {
		if _, ok := files[dep]; !ok {
			hint := ""
			if f.inSet {
				hint = "; write the set with protoc --include_imports"
			}
			return fmt.Errorf("%s imports %s, which is neither among the dependencies of its Go package nor in a descriptor set%s", path, dep, hint)
		}
		if err := closure(files, dep, complete); err != nil {
			return err
		}
	}
	complete[path] = f
	return nil
}

// compile gives the files to protogen.
func (x *Index) compile(files map[string]file) error {
	var params []string
	req := new(pluginpb.CodeGeneratorRequest)
	var add func(path string)
	done := make(map[string]bool)
	add = func(path string) {
		if done[path] {
			return
		}
		done[path] = true
		f := files[path]
		for _, dep := range f.proto.GetDependency() {
			add(dep)
		}
		req.ProtoFile = append(req.ProtoFile, f.proto)
		req.FileToGenerate = append(req.FileToGenerate, path)
		if f.importPath != "" {
			params = append(params, "M"+path+"="+f.importPath+";"+f.name)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		add(path)
	}
	req.Parameter = new(strings.Join(params, ","))
	plugin, err := protogen.Options{}.New(req)
	if err != nil {
		return fmt.Errorf("protoindex: %w", err)
	}
	for _, f := range plugin.Files {
		x.addMessages(f.Messages)
		x.goNames[string(f.GoImportPath)] = string(f.GoPackageName)
	}
	return nil
}

func (x *Index) addMessages(messages []*protogen.Message) {
	for _, m := range messages {
		x.messages[string(m.Desc.FullName())] = m
		x.addMessages(m.Messages)
	}
}

// definedIn maps the full names of all messages to the proto paths of their
// files.
func definedIn(files map[string]file) map[string]string {
	out := make(map[string]string)
	var add func(path, scope string, messages []*descriptorpb.DescriptorProto)
	add = func(path, scope string, messages []*descriptorpb.DescriptorProto) {
		for _, m := range messages {
			name := strings.TrimPrefix(scope+"."+m.GetName(), ".")
			out[name] = path
			add(path, name, m.GetNestedType())
		}
	}
	for path, f := range files {
		add(path, f.proto.GetPackage(), f.proto.GetMessageType())
	}
	return out
}
