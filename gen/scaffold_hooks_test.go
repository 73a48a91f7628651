package gen

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/xdsforge/xdsforge/gen/internal/annotation"
	"github.com/xdsforge/xdsforge/gen/internal/protoindex"
)

// The hooks of a new package have different names, and so have their imports.
func TestHookNames(t *testing.T) {
	set := new(descriptorpb.FileDescriptorSet)
	var wants []protoindex.Want
	for _, p := range []string{"a", "b", "c"} {
		goPackage := map[string]string{"a": "acme.test/a/resource", "b": "acme.test/b/corev3", "c": "acme.test/c/corev3"}[p]
		set.File = append(set.File, &descriptorpb.FileDescriptorProto{
			Name: new(p + ".proto"), Package: new(p), Syntax: new("proto3"), Options: &descriptorpb.FileOptions{GoPackage: new(goPackage)},
			MessageType: []*descriptorpb.DescriptorProto{{Name: new("Thing")}},
		})
		wants = append(wants, protoindex.Want{Message: p + ".Thing"})
	}
	data, err := proto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	index, err := protoindex.Load(t.Context(), protoindex.Config{Dir: ".", Sets: [][]byte{data}, Wants: wants})
	if err != nil {
		t.Fatal(err)
	}
	thing, err := index.Message("a.Thing")
	if err != nil {
		t.Fatal(err)
	}
	d := &draft{Message: thing}
	for _, r := range []annotation.Rule{
		{In: "part"}, {In: "part"}, {In: "part2"}, {Field: "labels.key"}, {Field: "labels.value"}, {In: "auth", Field: "keyword"}, {Field: "value"}, {},
	} {
		r.CEL = "true"
		if r.Message, err = index.Message([]string{"a.Thing", "b.Thing", "c.Thing"}[len(d.Rules)%3]); err != nil {
			t.Fatal(err)
		}
		d.Rules = append(d.Rules, r)
	}
	d.findHooks(index)
	var names []string
	for _, h := range d.Hooks {
		names = append(names, h.Name+" "+h.GoType)
	}
	want := []string{
		"checkPart resource2.Thing", "checkPart2 corev3.Thing", "checkPart22 corev32.Thing", "checkLabelsKeys resource2.Thing", "checkLabels corev3.Thing",
		"checkAuthKeyword corev32.Thing", "checkValue resource2.Thing", "checkThing corev3.Thing",
	}
	if !slices.Equal(names, want) {
		t.Errorf("hooks %q; want %q", names, want)
	}
}

// A new package for messages that contain each other needs no time for each path through them.
func TestMessagesThatContainEachOther(t *testing.T) {
	field := func(name string, number int32, of string) *descriptorpb.FieldDescriptorProto {
		return &descriptorpb.FieldDescriptorProto{
			Name: new(name), Number: new(number), Type: descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), TypeName: new(".acme." + of),
			Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		}
	}
	file := &descriptorpb.FileDescriptorProto{
		Name: new("acme.proto"), Package: new("acme"), Syntax: new("proto3"), Options: &descriptorpb.FileOptions{GoPackage: new("acme.test/acme")},
		MessageType: []*descriptorpb.DescriptorProto{{Name: new("Root"), Field: []*descriptorpb.FieldDescriptorProto{field("m", 1, "M0")}}},
	}
	const messages = int32(25)
	for i := range messages {
		m := &descriptorpb.DescriptorProto{Name: new(fmt.Sprint("M", i))}
		for j := range messages {
			m.Field = append(m.Field, field(fmt.Sprint("m", j), j+1, fmt.Sprint("M", j)))
		}
		file.MessageType = append(file.MessageType, m)
	}
	data, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{file}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := Scaffold{Message: "acme.Root", Folder: "root", Sets: [][]byte{data}}.Files(ctx)
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-ctx.Done():
		t.Error("the package was not written in a minute")
	}
}
