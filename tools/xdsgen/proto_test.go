package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	_ "github.com/envoyproxy/go-control-plane/envoy/config/core/v3" // for validate/validate.proto
	"github.com/rogpeppe/go-internal/testscript"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// protoc compiles proto files of the script with protoc-gen-go. The first argument is the path of the
// script's module. Files can import those that are linked into the test.
func protoc(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: protoc module file...")
	}
	linked := func(path string) (protocompile.SearchResult, error) {
		f, err := protoregistry.GlobalFiles.FindFileByPath(path)
		if err != nil {
			return protocompile.SearchResult{}, err
		}
		return protocompile.SearchResult{Desc: f}, nil
	}
	compiler := protocompile.Compiler{
		Resolver:       protocompile.CompositeResolver{&protocompile.SourceResolver{ImportPaths: []string{ts.MkAbs(".")}}, protocompile.ResolverFunc(linked)},
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(context.Background(), args[1:]...)
	ts.Check(err)
	req := &pluginpb.CodeGeneratorRequest{FileToGenerate: args[1:], Parameter: new("module=" + args[0])}
	added := make(map[string]bool)
	var add func(f protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		if added[f.Path()] {
			return
		}
		added[f.Path()] = true
		for i := range f.Imports().Len() {
			add(f.Imports().Get(i))
		}
		req.ProtoFile = append(req.ProtoFile, fileOf(f))
	}
	for _, f := range files {
		add(f)
	}
	data, err := proto.Marshal(req)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("request.binpb"), data, 0o600))
	ts.Check(ts.Exec("sh", "-c", "go run google.golang.org/protobuf/cmd/protoc-gen-go < request.binpb > response.binpb"))
	ts.Check(writeResponse(ts.MkAbs(".")))
}

// fileOf is the descriptor of a file. That of a compiled file has the options as they were written.
func fileOf(f protoreflect.FileDescriptor) *descriptorpb.FileDescriptorProto {
	if result, ok := f.(interface {
		FileDescriptorProto() *descriptorpb.FileDescriptorProto
	}); ok {
		return result.FileDescriptorProto()
	}
	return protodesc.ToFileDescriptorProto(f)
}

// writeResponse writes the files of the response of protoc-gen-go.
func writeResponse(dir string) error {
	data, err := os.ReadFile(filepath.Join(dir, "response.binpb"))
	if err != nil {
		return err
	}
	resp := new(pluginpb.CodeGeneratorResponse)
	if err := proto.Unmarshal(data, resp); err != nil {
		return err
	}
	if resp.Error != nil {
		return errors.New(resp.GetError())
	}
	for _, f := range resp.GetFile() {
		path := filepath.Join(dir, filepath.FromSlash(f.GetName()))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, bytes.TrimSpace([]byte(f.GetContent())), 0o600); err != nil {
			return err
		}
	}
	return nil
}
