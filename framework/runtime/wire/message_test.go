package wire

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/durationpb"
)

func field(b []byte, number protowire.Number, value string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, number, protowire.BytesType), value)
}

// TestField joins the occurrences of one field. It skips other fields and values of another wire
// type.
func TestField(t *testing.T) {
	other := protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.VarintType), 7)
	for _, tt := range []struct {
		in   []byte
		want []byte
	}{
		{nil, nil},
		{field(nil, 1, "x"), nil},
		{other, nil},
		{field(nil, 2, ""), []byte{}},
		{field(nil, 2, "a"), []byte("a")},
		{field(field(field(other, 2, "a"), 3, "x"), 2, "bc"), []byte("abc")},
	} {
		before := bytes.Clone(tt.in)
		got := Field(tt.in, 2)
		if !bytes.Equal(got, tt.want) || (got == nil) != (tt.want == nil) {
			t.Errorf("Field of % x = %q, want %q", tt.in, got, tt.want)
		}
		if !bytes.Equal(before, tt.in) {
			t.Errorf("Field changed % x to % x", before, tt.in)
		}
	}
}

// TestEncoded joins the occurrences of one message, and rejects malformed bytes.
func TestEncoded(t *testing.T) {
	one, two := string([]byte{1 << 3, 5}), string([]byte{2 << 3, 6})
	in := field(field(nil, 1, one), 1, two)
	before := bytes.Clone(in)
	r := Read(in)
	var got []byte
	for r.Next() {
		got = Encoded(&r, got, (*durationpb.Duration)(nil))
		r.Skip()
	}
	if string(got) != one+two || !r.OK() || !bytes.Equal(in, before) {
		t.Errorf("Encoded = % x, OK %v, of % x; want % x", got, r.OK(), in, one+two)
	}
	r = Read(field(nil, 1, "\xff"))
	for r.Next() {
		if b := Encoded(&r, nil, (*durationpb.Duration)(nil)); b != nil {
			t.Errorf("a malformed message is % x", b)
		}
		r.Skip()
	}
	if r.OK() {
		t.Error("a malformed message is OK")
	}
}
