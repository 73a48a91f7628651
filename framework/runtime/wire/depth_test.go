package wire

import (
	"bytes"
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/gen/testdata/testpb"
)

// TestDeepestMessage reads a message at the limit of nesting, and the field after it.
func TestDeepestMessage(t *testing.T) {
	in := []byte{1<<3 | 2, 2, 1 << 3, 7, 2 << 3, 9} // 1: { 1: 7 }, 2: 9
	r := Reader{b: in, depth: 2}
	top := r.Enter()
	r.Next()
	inner := r.Enter()
	if !r.OK() || !r.Next() || r.Uint64() != 7 {
		t.Error("the deepest message cannot be read")
	}
	r.Leave(inner)
	if !r.OK() || !r.Next() || r.Uint64() != 9 {
		t.Error("the field behind the deepest message cannot be read")
	}
	r.Leave(top)

	r = Reader{b: in, depth: 1}
	r.Enter()
	r.Next()
	r.Enter()
	if r.OK() || r.Next() {
		t.Error("a message that is nested too deeply can be read")
	}
}

// TestDepthOfMaps expects the entries of maps not to count as nested messages.
func TestDepthOfMaps(t *testing.T) {
	b, err := proto.Marshal(&testpb.Table{Counts: map[string]uint64{"k": 1}})
	if err != nil {
		t.Fatal(err)
	}
	r := Reader{b: b, depth: 1}
	if !r.Check(new(testpb.Table)) {
		t.Error("an entry of a map counts as a nested message")
	}
}

// TestDepthOfWhole expects protobuf and the reader to have the same limit of nesting.
func TestDepthOfWhole(t *testing.T) {
	b, err := proto.Marshal(&testpb.Part{Parts: []*testpb.Part{{Parts: []*testpb.Part{{Id: "x"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	for depth, want := range map[int32]bool{2: false, 3: true} {
		r := Reader{b: b, depth: depth}
		var m *testpb.Part
		Unmarshal(&r, &m)
		if r.OK() != want {
			t.Errorf("with a depth of %d, 3 messages are unmarshalled: %t, want %t", depth, r.OK(), want)
		}
	}
}

// TestMalformedLarge expects protobuf's reason for small messages only.
func TestMalformedLarge(t *testing.T) {
	b := bytes.Repeat([]byte{0xff}, maxExplained+1)
	if err := Malformed(b[1:], new(testpb.Part)); err == nil || errors.Is(err, errMalformed) {
		t.Errorf("the error of %d bytes is %v, want that of protobuf", maxExplained, err)
	}
	if err := Malformed(b, new(testpb.Part)); !errors.Is(err, errMalformed) {
		t.Errorf("the error of %d bytes is %v, want %v", len(b), err, errMalformed)
	}
}

// TestSmallestLongTag reads the first tag of two bytes. An empty blob has no tag.
func TestSmallestLongTag(t *testing.T) {
	r := Read([]byte{0x80, 0x01, 0x05, 1<<3 | 2, 0})
	if !r.Next() || r.Tag() != 16<<3 || r.Uint64() != 5 {
		t.Errorf("the tag is %d, want that of field 16", r.Tag())
	}
	if !r.Next() || r.Blob() != nil || !r.OK() {
		t.Error("an empty blob is not nil")
	}
}
