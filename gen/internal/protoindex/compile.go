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

// A closure is files with all that they import, which come first.
type closure struct {
	files    map[string]file   // to choose from
	defined  map[string]string // the proto paths of messages
	reached  map[string]error  // by proto path: the reason why it is not complete, or nil
	complete []file
}

// want adds the file of a message and everything it imports. p is the Go package of the message, if it was listed.
func (c *closure) want(w Want, p goPackage) error {
	path, proto := w.path(), c.defined[w.Message]
	f, found := c.files[proto]
	described := func(f file) bool { return f.importPath == path }
	switch {
	case !found && path == "":
		return unknownPackage(w.Message)
	case !found && isFolder(path):
		return fmt.Errorf("%w for %s: %s is a folder; write the import path of its package", ErrNoGoPackage, w.Message, path)
	case !f.inSet && f.importPath != path && p.Error != nil:
		return fmt.Errorf("%w for %s: %s", ErrNoGoPackage, w.Message, p.problem())
	case !found && !slices.ContainsFunc(slices.Collect(maps.Values(c.files)), described):
		return fmt.Errorf("%w for %s: the source of %s has no descriptor that protoc-gen-go wrote; give a descriptor set", ErrNoGoPackage, w.Message, path)
	case !found:
		return fmt.Errorf("there is no message %s in Go package %s", w.Message, path)
	case !f.inSet && w.GoPackage != "" && w.GoPackage != f.importPath:
		return fmt.Errorf("%s is in Go package %s, not in %s", w.Message, f.importPath, w.GoPackage)
	case w.GoPackage != "" && w.GoPackage != f.importPath:
		f.importPath, f.name = w.GoPackage, ""
		c.files[proto] = f
	case strings.HasPrefix(f.importPath, Unknown):
		return unknownPackage(w.Message)
	}
	return c.add(proto)
}

func unknownPackage(message string) error {
	return fmt.Errorf("%w is known for %s", ErrNoGoPackage, message)
}

// add adds a file and everything it imports.
func (c *closure) add(path string) error {
	if err, ok := c.reached[path]; ok {
		return err
	}
	c.reached[path] = nil // of a cycle, protogen makes an error
	f := c.files[path]
	for _, dep := range f.proto.GetDependency() {
		if _, ok := c.files[dep]; !ok {
			hint := ""
			if f.inSet {
				hint = "; write the set with protoc --include_imports"
			}
			c.reached[path] = fmt.Errorf("%s imports %s, which is neither among the dependencies of its Go package nor in a descriptor set%s", path, dep, hint)
		} else if err := c.add(dep); err != nil {
			c.reached[path] = err
		}
		if c.reached[path] != nil {
			return c.reached[path]
		}
	}
	c.complete = append(c.complete, f)
	return nil
}

// compile gives files, each behind those that it imports, to protogen.
func (x *Index) compile(files []file) error {
	var params []string
	req := new(pluginpb.CodeGeneratorRequest)
	for _, f := range files {
		path := f.proto.GetName()
		req.ProtoFile = append(req.ProtoFile, f.proto)
		req.FileToGenerate = append(req.FileToGenerate, path)
		if f.importPath != "" {
			params = append(params, "M"+path+"="+f.importPath+";"+f.name)
		}
	}
	req.Parameter = new(strings.Join(params, ","))
	plugin, err := protogen.Options{}.New(req)
	if err != nil {
		return fmt.Errorf("protoindex: %w", err)
	}
	for _, f := range plugin.Files {
		x.addMessages(f.Messages)
		x.extensions = append(x.extensions, f.Extensions...)
		x.goNames[string(f.GoImportPath)] = string(f.GoPackageName)
	}
	return nil
}

func (x *Index) addMessages(messages []*protogen.Message) {
	for _, m := range messages {
		x.messages[string(m.Desc.FullName())] = m
		x.extensions = append(x.extensions, m.Extensions...)
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
