package protoindex

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// Want is a message to load.
type Want struct {
	Message   string // full name
	GoPackage string // import path; empty where [GoPackage] knows it
}

// path is the import path of the message's Go package, empty where it is not known.
func (w Want) path() string { return cmp.Or(w.GoPackage, GoPackage(w.Message)) }

// Config is the configuration of [Load].
type Config struct {
	// Dir is where the Go toolchain is asked: its module decides which
	// packages there are, and in which versions.
	Dir string
	// Wants are the messages to look up. Load also loads the messages to which they refer.
	Wants []Want
	// Sets are encoded google.protobuf.FileDescriptorSet messages. Their files take
	// precedence over those of Go packages.
	Sets [][]byte
}

// Index has the loaded messages. It is immutable.
type Index struct {
	messages   map[string]*protogen.Message
	extensions []*protogen.Extension
	problems   map[string]error  // by message: the reason why it is missing
	goNames    map[string]string // by import path: the name of the Go package
	names      []string
	packages   map[string]goPackage // by import path: those that the Go toolchain listed
}

// A file is a proto file and the Go package that was made of it.
type file struct {
	proto      *descriptorpb.FileDescriptorProto
	importPath string
	name       string // of the package; may be empty
	inSet      bool   // it came from a descriptor set
}

// ErrNoGoPackage says that it is not known which Go package a message is in, or the
// package cannot be had.
var ErrNoGoPackage = errors.New("no Go package")

// Load finds the wanted messages. [Index.Message] returns the error of a message that was
// not found. Load returns an error if the Go toolchain fails or a descriptor set is
// invalid.
func Load(ctx context.Context, c Config) (*Index, error) {
	x := &Index{messages: make(map[string]*protogen.Message), problems: make(map[string]error), goNames: make(map[string]string), packages: make(map[string]goPackage)}
	files := make(map[string]file) // by proto path
	for i, data := range c.Sets {
		if err := readSet(data, files); err != nil {
			return nil, fmt.Errorf("protoindex: descriptor set %d: %w", i, err)
		}
	}
	if err := x.readPackages(ctx, c, files); err != nil {
		return nil, err
	}
	all := closure{files: files, defined: definedIn(files), reached: make(map[string]error)}
	x.names = slices.Sorted(maps.Keys(all.defined))
	for _, w := range c.Wants {
		if err := all.want(w, x.packages[w.path()]); err != nil && x.problems[w.Message] == nil {
			x.problems[w.Message] = err
		}
	}
	if err := x.compile(all.complete); err != nil {
		return nil, err
	}
	return x, nil
}

// readPackages adds the files of the wanted messages' Go packages, except for messages in sets.
func (x *Index) readPackages(ctx context.Context, c Config, files map[string]file) error {
	inSets, paths := definedIn(files), make(map[string]bool)
	for _, w := range c.Wants {
		if path := w.path(); inSets[w.Message] == "" && path != "" && !isFolder(path) {
			paths[path] = true
		}
	}
	if len(paths) == 0 {
		return nil
	}
	listed, err := list(ctx, c.Dir, slices.Sorted(maps.Keys(paths)))
	if err != nil {
		return err
	}
	for path, f := range readStatic(listed) {
		if files[path].proto == nil {
			files[path] = f
		}
	}
	for _, p := range listed {
		x.packages[p.ImportPath] = p
	}
	return nil
}

// isFolder reports whether an import path is a folder instead.
func isFolder(path string) bool { return strings.HasPrefix(path, ".") || strings.HasPrefix(path, "/") }

// Message finds a message by its full name.
func (x *Index) Message(name string) (*protogen.Message, error) {
	if m, ok := x.messages[name]; ok {
		return m, nil
	}
	return nil, cmp.Or(x.problems[name], fmt.Errorf("message %s was not loaded", name))
}

// Extension returns the extension of a message with the number, nil if none was loaded.
func (x *Index) Extension(of protoreflect.FullName, number protoreflect.FieldNumber) *protogen.Extension {
	i := slices.IndexFunc(x.extensions, func(e *protogen.Extension) bool {
		return e.Desc.ContainingMessage().FullName() == of && e.Desc.Number() == number
	})
	if i < 0 {
		return nil
	}
	return x.extensions[i]
}

// GoName is the name of the Go package with the given import path, where
// messages or enums of it were loaded.
func (x *Index) GoName(importPath string) (string, bool) {
	name, ok := x.goNames[importPath]
	return name, ok
}

// Names returns the full names of all known messages, sorted. It can include messages that
// cannot be looked up.
func (x *Index) Names() []string { return x.names }
