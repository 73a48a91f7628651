package wire

import (
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// scalars returns a message type with lists of all widths of scalars, and one scalar that is not repeated.
func scalars(t *testing.T) proto.Message {
	t.Helper()
	file := new(descriptorpb.FileDescriptorProto)
	const text = `name: "scalars.proto" package: "scalars" syntax: "proto3" message_type { name: "Scalars"
		field { name: "narrow" number: 1 type: TYPE_FIXED32 label: LABEL_REPEATED }
		field { name: "float" number: 2 type: TYPE_FLOAT label: LABEL_REPEATED }
		field { name: "wide" number: 3 type: TYPE_SFIXED64 label: LABEL_REPEATED }
		field { name: "double" number: 4 type: TYPE_DOUBLE label: LABEL_REPEATED }
		field { name: "varint" number: 5 type: TYPE_BOOL label: LABEL_REPEATED }
		field { name: "one" number: 6 type: TYPE_INT32 label: LABEL_OPTIONAL }
		field { name: "texts" number: 7 type: TYPE_STRING label: LABEL_REPEATED }
		field { name: "blobs" number: 8 type: TYPE_BYTES label: LABEL_REPEATED } }`
	if err := prototext.Unmarshal([]byte(text), file); err != nil {
		t.Fatal(err)
	}
	d, err := protodesc.NewFile(file, new(protoregistry.Files))
	if err != nil {
		t.Fatal(err)
	}
	return dynamicpb.NewMessage(d.Messages().Get(0))
}

// Check accepts the values of each kind of field that protobuf accepts.
func TestCheckScalars(t *testing.T) {
	m := scalars(t)
	var b Budget
	accepted := 0
	for number := range 10 {
		for _, value := range []string{"", "\x01", "\x80", "\x80\x01", "1234", "\xff\xff\xff\xff", "12345678", "1234\x80\x80\x80\x80", "123456789abc"} {
			body := append([]byte{byte(number<<3) | 2, byte(len(value))}, value...)
			want := proto.Unmarshal(body, m.ProtoReflect().New().Interface())
			r := b.Within(body)
			if got := r.Check(m); got != (want == nil) || got != Check(body, m) {
				t.Errorf("Check of field %d with %q = %t; protobuf returns %v", number, value, got, want)
			}
			if want == nil {
				accepted++
			}
		}
	}
	if accepted == 0 || accepted == 90 {
		t.Errorf("protobuf accepts %d of 90 values; want some", accepted)
	}
}

// A budget keeps the rules of a type, so that a check does not allocate.
func TestCheckAllocations(t *testing.T) {
	m := scalars(t)
	var b Budget
	if n := testing.AllocsPerRun(100, func() {
		r := b.Within([]byte{7<<3 | 2, 1, 'a'})
		if !r.Check(m) {
			t.Error("the text is rejected")
		}
	}); n > 0 {
		t.Errorf("a check takes %v allocations", n)
	}
}
