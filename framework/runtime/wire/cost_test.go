package wire

import (
	"testing"
	"unsafe"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/gen/testdata/testpb"
)

// dynamic returns a message type without a Go type. It has strings in the fields 63 and 64 and a
// group in field 65.
func dynamic(t *testing.T) *dynamicpb.Message {
	t.Helper()
	file := new(descriptorpb.FileDescriptorProto)
	const text = `name: "dynamic.proto" package: "dynamic" message_type { name: "Dynamic"
		field { name: "below" number: 63 type: TYPE_STRING label: LABEL_REPEATED }
		field { name: "at" number: 64 type: TYPE_STRING label: LABEL_REPEATED }
		field { name: "group" number: 65 type: TYPE_GROUP label: LABEL_OPTIONAL type_name: ".dynamic.Dynamic.Group" }
		nested_type { name: "Group" field { name: "text" number: 1 type: TYPE_STRING label: LABEL_REPEATED } } }`
	if err := prototext.Unmarshal([]byte(text), file); err != nil {
		t.Fatal(err)
	}
	d, err := protodesc.NewFile(file, new(protoregistry.Files))
	if err != nil {
		t.Fatal(err)
	}
	return dynamicpb.NewMessage(d.Messages().Get(0))
}

// TestMessages expects the cost of a message to be the sum of its parts. A budget grants exactly
// that.
func TestMessages(t *testing.T) {
	const (
		thing    = int64(unsafe.Sizeof(testpb.Thing{}))
		part     = int64(unsafe.Sizeof(testpb.Part{}))
		table    = int64(unsafe.Sizeof(testpb.Table{}))
		duration = int64(unsafe.Sizeof(durationpb.Duration{}))
		number   = int64(unsafe.Sizeof(wrapperspb.UInt32Value{}))
	)
	for _, tt := range []struct {
		text string
		m    proto.Message
		want int64 // without the encoded bytes
	}{
		{``, new(testpb.Thing), thing},
		{`name: "n" flag: true small: 7 blob: "b"`, new(testpb.Thing), thing},
		{`tags: "a" tags: "b" blobs: "c"`, new(testpb.Thing), thing + 3*stringCost},
		{`numbers: [1, 2, 300]`, new(testpb.Thing), thing + scalarCost + 4*scalarCost},
		{`colors: COLOR_RED`, new(testpb.Thing), thing + 2*scalarCost},
		{`labels { key: "k" value: "v" }`, new(testpb.Thing), thing + entryCost},
		{`limits { key: "k" value: 1 }`, new(testpb.Thing), thing + entryCost},
		{`maybe: 1`, new(testpb.Thing), thing + oneofCost},
		{`timeout { seconds: 1 }`, new(testpb.Thing), thing + duration},
		{`timeouts { seconds: 1 } timeouts {}`, new(testpb.Thing), thing + 2*(elementCost+duration)},
		{`part { id: "i" weight { value: 3 } aliases: "a" }`, new(testpb.Thing), thing + part + number + stringCost},
		{`inner { inner {} }`, new(testpb.Thing), 3 * thing},
		{`word: "w"`, new(testpb.Thing), thing + oneofCost},
		{`number: 5`, new(testpb.Thing), thing + oneofCost},
		{`chosen { parts {} }`, new(testpb.Thing), thing + oneofCost + part + elementCost + part},
		{`parts { key: 1 value { id: "i" } } parts { key: 2 value {} }`, new(testpb.Table), table + 2*(entryCost+part)},
		{`below: "b" at: "a" at: "a"`, dynamic(t), unknownSize + 3*stringCost},
		{`group { text: "t" }`, dynamic(t), unknownSize},
	} {
		if err := (prototext.UnmarshalOptions{Resolver: nil}).Unmarshal([]byte(tt.text), tt.m); err != nil {
			t.Fatalf("%s: %v", tt.text, err)
		}
		b, err := proto.Marshal(tt.m)
		if err != nil {
			t.Fatal(err)
		}
		want := tt.want + int64(len(b))
		shared := NewShared(Quotas{Size: want / 2})
		if !started(t, Quotas{Size: made * want}, shared).Messages(b, tt.m) || shared.size.left.Load() != 0 {
			t.Errorf("{ %s } does not cost %d twice, and the response half of it; %d are left", tt.text, want, shared.size.left.Load())
		}
		budget := started(t, Quotas{Size: made*want - 1}, nil)
		if budget.Messages(b, tt.m) {
			t.Errorf("{ %s } costs less than %d twice", tt.text, want)
		} else if e := budget.Excess(); *e != (Excess{Count: 1, Size: int(made * want), at: -1}) {
			t.Errorf("{ %s }: the denied cost is %+v, want a size of %d", tt.text, e, made*want)
		}
	}
}

// TestMalformedMessage expects a value of a wrong wire type to cost only its occurrence.
func TestMalformedMessage(t *testing.T) {
	thing := int64(unsafe.Sizeof(testpb.Thing{}))
	b := []byte{30<<3&0x7f | 0x80, 30 >> 4, 5} // timeout = 5
	if !started(t, Quotas{Size: made * (thing + int64(len(b)))}, nil).Messages(b, new(testpb.Thing)) {
		t.Error("a number in place of a message costs more than its byte")
	}
}

// TestCostsAreKept expects a budget to create costs only if it has none.
func TestCostsAreKept(t *testing.T) {
	b := started(t, Quotas{Size: 1 << 20}, nil)
	b.Messages(nil, new(testpb.Thing))
	first := b.costs
	b.Messages(nil, new(testpb.Part))
	if first == nil || b.costs != first {
		t.Error("the costs of message types are not kept")
	}
}
