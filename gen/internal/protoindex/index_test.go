package protoindex_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/xdsforge/xdsforge/gen/internal/protoindex"
)

func load(t *testing.T, c protoindex.Config) *protoindex.Index {
	t.Helper()
	if c.Dir == "" {
		c.Dir = "."
	}
	x, err := protoindex.Load(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func message(t *testing.T, x *protoindex.Index, name string) *protogen.Message {
	t.Helper()
	m, err := x.Message(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func linked() []protoindex.Want {
	return []protoindex.Want{
		{Message: "envoy.config.cluster.v3.Cluster"},
		{Message: "envoy.config.endpoint.v3.ClusterLoadAssignment"},
		{Message: "envoy.config.route.v3.RouteConfiguration"},
	}
}

// The descriptors in the source equal those of the linked packages.
func TestStaticIsLinked(t *testing.T) {
	x := load(t, protoindex.Config{Wants: linked()})
	compared := make(map[string]bool)
	for _, w := range linked() {
		m := message(t, x, w.Message)
		for _, path := range imports(m.Desc.ParentFile(), compared) {
			want, err := protoregistry.GlobalFiles.FindFileByPath(path)
			if err != nil {
				t.Errorf("%s is not linked: %v", path, err)
				continue
			}
			got := protodesc.ToFileDescriptorProto(find(t, m.Desc.ParentFile(), path))
			if !proto.Equal(canonical(t, got), canonical(t, protodesc.ToFileDescriptorProto(want))) {
				t.Errorf("%s is not what is linked", path)
			}
		}
	}
	if len(compared) < 20 {
		t.Errorf("only %d files were compared", len(compared))
	}
}

// imports are the paths of f and of all that it imports, that are not in seen.
func imports(f protoreflect.FileDescriptor, seen map[string]bool) []string {
	if seen[f.Path()] {
		return nil
	}
	seen[f.Path()] = true
	out := []string{f.Path()}
	for i := range f.Imports().Len() {
		out = append(out, imports(f.Imports().Get(i).FileDescriptor, seen)...)
	}
	return out
}

func find(t *testing.T, f protoreflect.FileDescriptor, path string) protoreflect.FileDescriptor {
	t.Helper()
	var look func(f protoreflect.FileDescriptor) protoreflect.FileDescriptor
	look = func(f protoreflect.FileDescriptor) protoreflect.FileDescriptor {
		if f.Path() == path {
			return f
		}
		for i := range f.Imports().Len() {
			if found := look(f.Imports().Get(i).FileDescriptor); found != nil {
				return found
			}
		}
		return nil
	}
	found := look(f)
	if found == nil {
		t.Fatalf("%s is not in the index", path)
	}
	return found
}

// canonical has all options resolved against the same registry.
func canonical(t *testing.T, fd *descriptorpb.FileDescriptorProto) proto.Message {
	t.Helper()
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(fd)
	if err != nil {
		t.Fatal(err)
	}
	out := new(descriptorpb.FileDescriptorProto)
	if err := proto.Unmarshal(b, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// Names and import paths are those of the code that protoc-gen-go wrote.
func TestGoNames(t *testing.T) {
	x := load(t, protoindex.Config{Wants: linked()})
	m := message(t, x, "envoy.config.cluster.v3.Cluster.EdsClusterConfig")
	const path = "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	if got, want := m.GoIdent, (protogen.GoIdent{GoName: "Cluster_EdsClusterConfig", GoImportPath: path}); got != want {
		t.Errorf("GoIdent = %v; want %v", got, want)
	}
	if name, ok := x.GoName(path); !ok || name != "clusterv3" {
		t.Errorf("GoName(%s) = %q, %v; want clusterv3", path, name, ok)
	}
	if f := m.Fields[1]; f.GoName != "ServiceName" || f.Desc.Number() != 2 || f.Desc.Kind() != protoreflect.StringKind {
		t.Errorf("second field: %s = %d, %v", f.GoName, f.Desc.Number(), f.Desc.Kind())
	}
}

func TestProblems(t *testing.T) {
	const pkg = "github.com/xdsforge/xdsforge/gen/testdata/testpb"
	x := load(t, protoindex.Config{Wants: []protoindex.Want{
		{Message: "xdsforge.test.v1.Thing", GoPackage: pkg},
		{Message: "xdsforge.test.v1.Nothing", GoPackage: pkg},
		{Message: "acme.v1.Thing"},
		{Message: "acme.v2.Thing", GoPackage: "acme.test/v2"},
		{Message: "xdsforge.test.v1.Part", GoPackage: "google.golang.org/protobuf/types/known/anypb"},
		{Message: "google.protobuf.Duration", GoPackage: pkg},
	}})
	message(t, x, "xdsforge.test.v1.Thing")
	for name, want := range map[string]string{
		"xdsforge.test.v1.Nothing": "there is no message xdsforge.test.v1.Nothing",
		"acme.v1.Thing":            "no Go package is known for acme.v1.Thing",
		"acme.v2.Thing":            "to add it: go get acme.test/v2",
		"acme.v3.Thing":            "message acme.v3.Thing was not loaded",
	} {
		_, err := x.Message(name)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v; must contain %q", name, err, want)
		}
		if got, want := errors.Is(err, protoindex.ErrNoGoPackage), strings.Contains(name, "acme.v1") || strings.Contains(name, "acme.v2"); got != want {
			t.Errorf("%s: errors.Is(%v, ErrNoGoPackage) = %v", name, err, got)
		}
	}
}

func TestWrongGoPackage(t *testing.T) {
	const pkg = "github.com/xdsforge/xdsforge/gen/testdata/testpb"
	x := load(t, protoindex.Config{Wants: []protoindex.Want{
		{Message: "envoy.config.core.v3.Address", GoPackage: pkg},
	}})
	const want = "envoy.config.core.v3.Address is in Go package github.com/envoyproxy/go-control-plane/envoy/config/core/v3, not in " + pkg
	// It is there for others that refer to it.
	if _, err := x.Message("envoy.config.core.v3.Address"); err == nil || err.Error() != want {
		t.Errorf("error %v\nwant  %s", err, want)
	}
}

func TestGoPackage(t *testing.T) {
	for message, want := range map[string]string{
		"envoy.config.cluster.v3.Cluster":                  "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3",
		"envoy.config.cluster.v3.Cluster.EdsClusterConfig": "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3",
		"xds.type.v3.TypedStruct":                          "github.com/cncf/xds/go/xds/type/v3",
		"udpa.type.v1.TypedStruct":                         "github.com/cncf/xds/go/udpa/type/v1",
		"google.protobuf.UInt32Value":                      "google.golang.org/protobuf/types/known/wrapperspb",
		"google.protobuf.Nothing":                          "",
		"google.rpc.Status":                                "",
		"acme.v1.Thing":                                    "",
		"":                                                 "",
	} {
		if got := protoindex.GoPackage(message); got != want {
			t.Errorf("GoPackage(%q) = %q; want %q", message, got, want)
		}
	}
}

// A descriptor set needs no Go package to be there.
func TestDescriptorSet(t *testing.T) {
	set := &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{{
		Name: new("acme/v1/thing.proto"), Package: new("acme.v1"), Syntax: new("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{{Name: new("Thing"), Field: []*descriptorpb.FieldDescriptorProto{{
			Name: new("reset"), Number: proto.Int32(1), Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(),
			Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		}}}},
	}}}
	for name, test := range map[string]struct {
		option, goPackage, want string
	}{
		"option":     {"acme.test/gen/v1;thingv1", "", "acme.test/gen/v1"},
		"descriptor": {"", "acme.test/other", "acme.test/other"},
		"both":       {"acme.test/gen/v1", "acme.test/other", "acme.test/other"},
	} {
		t.Run(name, func(t *testing.T) {
			set.File[0].Options = &descriptorpb.FileOptions{GoPackage: new(test.option)}
			data, err := proto.Marshal(set)
			if err != nil {
				t.Fatal(err)
			}
			x := load(t, protoindex.Config{Sets: [][]byte{data}, Wants: []protoindex.Want{{Message: "acme.v1.Thing", GoPackage: test.goPackage}}})
			m := message(t, x, "acme.v1.Thing")
			if got := string(m.GoIdent.GoImportPath); got != test.want {
				t.Errorf("import path %s; want %s", got, test.want)
			}
			if got := m.Fields[0].GoName; got != "Reset_" {
				t.Errorf("GoName = %q; a field called reset clashes with a method", got)
			}
		})
	}
	if _, err := protoindex.Load(t.Context(), protoindex.Config{Dir: ".", Sets: [][]byte{{0xff}}}); err == nil {
		t.Error("garbage was taken for a descriptor set")
	}
}

// An import that a set leaves out is named.
func TestIncompleteSet(t *testing.T) {
	data, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{{
		Name: new("a.proto"), Dependency: []string{"b.proto"}, Package: new("acme"),
		MessageType: []*descriptorpb.DescriptorProto{{Name: new("A")}},
		Options:     &descriptorpb.FileOptions{GoPackage: new("acme.test/a")},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	x := load(t, protoindex.Config{Sets: [][]byte{data}, Wants: []protoindex.Want{{Message: "acme.A"}}})
	if _, err := x.Message("acme.A"); err == nil || !strings.Contains(err.Error(), "a.proto imports b.proto") {
		t.Errorf("error %v; must name the import", err)
	}
}

// Files of a set that import each other are an error.
func TestCyclicSet(t *testing.T) {
	of := func(name, imports string) *descriptorpb.FileDescriptorProto {
		return &descriptorpb.FileDescriptorProto{
			Name: new(name + ".proto"), Dependency: []string{imports + ".proto"}, Package: new("acme." + name),
			MessageType: []*descriptorpb.DescriptorProto{{Name: new("A")}},
			Options:     &descriptorpb.FileOptions{GoPackage: new("acme.test/" + name)},
		}
	}
	data, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{of("a", "b"), of("b", "a")}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = protoindex.Load(t.Context(), protoindex.Config{Dir: ".", Sets: [][]byte{data}, Wants: []protoindex.Want{{Message: "acme.a.A"}}})
	if err == nil || !strings.Contains(err.Error(), "a.proto") {
		t.Errorf("error %v; must name a file of the cycle", err)
	}
}

func TestNoFolder(t *testing.T) {
	_, err := protoindex.Load(t.Context(), protoindex.Config{Dir: filepath.Join(os.TempDir(), "is-not-there"), Wants: linked()})
	if err == nil {
		t.Error("a folder that is not there was asked")
	}
}
