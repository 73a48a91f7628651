package wire_test

import (
	"bytes"
	"math"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/xdsforge/xdsforge/framework/runtime/wire"
	"github.com/xdsforge/xdsforge/gen/testdata/testpb"
)

// thing reads a Thing as a generated view does.
type thing struct {
	Name    string
	Big     int64
	Zigzag  int32
	Fixed   uint64
	Ratio   float32
	Precise float64
	Flag    bool
	Blob    []byte
	Numbers []uint32
	Parts   []string // the ids of parts
}

func (m *thing) parse(r *wire.Reader) {
	outer := r.Enter()
	for r.Next() {
		switch r.Tag() {
		case 1<<3 | wire.Len:
			m.Name = r.String()
		case 2<<3 | wire.Varint:
			m.Flag = r.Bool()
		case 4<<3 | wire.Varint:
			m.Big = r.Int64()
		case 7<<3 | wire.Fixed32:
			m.Ratio = r.Float()
		case 8<<3 | wire.Fixed64:
			m.Precise = r.Double()
		case 10<<3 | wire.Len:
			m.Blob = r.Blob()
		case 11<<3 | wire.Varint:
			m.Zigzag = r.Sint32()
		case 12<<3 | wire.Fixed64:
			m.Fixed = r.Fixed64()
		case 14<<3 | wire.Varint:
			m.Numbers = append(m.Numbers, r.Uint32())
		case 14<<3 | wire.Len:
			packed := r.Inside()
			for r.More() {
				m.Numbers = append(m.Numbers, r.Uint32())
			}
			r.Leave(packed)
		case 51<<3 | wire.Len:
			parsePart(r, wire.Element[string](&m.Parts, r))
		default:
			r.Skip()
		}
	}
	r.Leave(outer)
}

// read reads the message encoded in b.
func (m *thing) read(b []byte) bool {
	r := wire.Read(b)
	m.parse(&r)
	return r.OK()
}

func parsePart(r *wire.Reader, id *string) {
	outer := r.Enter()
	for r.Next() {
		if r.Tag() == 1<<3|wire.Len {
			*id = r.String()
		} else {
			r.Skip()
		}
	}
	r.Leave(outer)
}

// of returns the parts of a message that a thing has.
func of(m *testpb.Thing) thing {
	out := thing{
		Name: m.GetName(), Big: m.GetBig(), Zigzag: m.GetZigzag(), Fixed: m.GetFixed(), Ratio: m.GetRatio(),
		Precise: m.GetPrecise(), Flag: m.GetFlag(), Blob: m.GetBlob(), Numbers: m.GetNumbers(),
	}
	for _, p := range m.GetParts() {
		out.Parts = append(out.Parts, p.GetId())
	}
	return out
}

func example() *testpb.Thing {
	return &testpb.Thing{
		Name: "name", Big: math.MinInt64, Zigzag: -3, Fixed: 7, Ratio: 1.5, Precise: -2.5, Flag: true, Blob: []byte("blob"),
		Numbers: []uint32{1, 300, math.MaxUint32}, Parts: []*testpb.Part{{Id: "a"}, {Id: "b"}, {}}, Inner: &testpb.Thing{Name: "inner"},
	}
}

func equal(a, b thing) bool {
	return a.Name == b.Name && a.Big == b.Big && a.Zigzag == b.Zigzag && a.Fixed == b.Fixed && a.Flag == b.Flag && bytes.Equal(a.Blob, b.Blob) &&
		math.Float32bits(a.Ratio) == math.Float32bits(b.Ratio) && math.Float64bits(a.Precise) == math.Float64bits(b.Precise) &&
		len(a.Numbers) == len(b.Numbers) && len(a.Parts) == len(b.Parts) && same(a.Numbers, b.Numbers) && same(a.Parts, b.Parts)
}

func same[T comparable](a, b []T) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// A reader and protobuf read the same content. If a reader accepts bytes that protobuf rejects,
// because it skips them, Check rejects them.
func FuzzReader(f *testing.F) {
	body, err := proto.Marshal(example())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(body)
	for _, b := range [][]byte{
		nil,
		body[:len(body)-1],
		append(bytes.Clone(body), body...), // all again
		{0x0a, 0x01, 0xff},                 // no UTF-8
		{0x10, 0x80, 0x80, 0x00},           // a long zero
		{0x8a, 0x80, 0x00, 0x01, 'x'},      // a long tag
		{0x20, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02}, // more than 64 bits
		{0x70, 0x05, 0x72, 0x02, 0x06, 0x07},                               // not packed and packed
		{0x72, 0x01, 0x80},                                                 // packed, and cut off
		{0x0d, 1, 2, 3, 4},                                                 // the name as a fixed32
		{0x00, 0x00},                                                       // field 0
		{0x0b, 0x0a, 0x00, 0x0c},                                           // the name as a group
		{0x0c},                                                             // the end of no group
		{0x0b, 0x14},                                                       // the end of another group
		{0x0e, 0x00},
		{0x0f, 0x00},                         // no wire types
		{0xf8, 0xff, 0xff, 0xff, 0x0f, 0x00}, // the last number
		{0x80, 0x80, 0x80, 0x80, 0x10, 0x00}, // beyond it
		{0xaa, 0x03, 0x03, 0x0a, 0x01, 0xff}, // invalid UTF-8 in an unread field
		{0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, // a huge length
	} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m := new(testpb.Thing)
		err := proto.Unmarshal(b, m)
		var got thing
		ok := got.read(b)
		if checked := wire.Check(b, m); checked != (err == nil) {
			t.Fatalf("Check(%x) = %v; protobuf returns %v", b, checked, err)
		}
		switch {
		case err == nil && !ok:
			t.Fatalf("%x cannot be read; protobuf can", b)
		case err == nil && !equal(got, of(m)):
			t.Fatalf("%x was read as %+v; it is %+v", b, got, of(m))
		case err != nil && wire.Malformed(b, m).Error() != err.Error():
			t.Fatalf("Malformed = %v; protobuf returns %v", wire.Malformed(b, m), err)
		}
	})
}

// The reader and protobuf have the same limit of nested messages.
func TestNesting(t *testing.T) {
	for depth, ok := range map[int]bool{1: true, 9999: true, 10000: false} {
		var b []byte
		for range depth {
			b = protowire.AppendBytes(protowire.AppendTag(nil, 53, protowire.BytesType), b)
		}
		if got := wire.Check(b, (*testpb.Thing)(nil)); got != ok || got != (proto.Unmarshal(b, new(testpb.Thing)) == nil) {
			t.Errorf("Check at depth %d = %v", depth, got)
		}
	}
}

// A list has room for all its elements at once. Values that are copied out of it have no spare
// capacity.
func TestCount(t *testing.T) {
	body, err := proto.Marshal(example())
	if err != nil {
		t.Fatal(err)
	}
	var got thing
	if !got.read(body) || cap(got.Parts) != 3 {
		t.Errorf("3 parts have room for %d", cap(got.Parts))
	}
	if cap(got.Blob) != len(got.Blob) {
		t.Errorf("a blob of %d bytes has room for %d", len(got.Blob), cap(got.Blob))
	}
}

// The well-known types in views merge as protobuf merges them.
func TestWellKnown(t *testing.T) {
	twice := func(a, b proto.Message) []byte {
		first, err := proto.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		second, err := proto.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		return append(first, second...)
	}
	var d durationpb.Duration
	r := wire.Read(twice(&durationpb.Duration{Seconds: 4}, &durationpb.Duration{Nanos: -5}))
	wire.Duration(&r, &d)
	if !r.OK() || d.GetSeconds() != 4 || d.GetNanos() != -5 {
		t.Errorf("Duration = %v", &d)
	}
	var ts timestamppb.Timestamp
	r = wire.Read(twice(&timestamppb.Timestamp{Seconds: 4}, &timestamppb.Timestamp{Seconds: 6}))
	wire.Timestamp(&r, &ts)
	if !r.OK() || ts.GetSeconds() != 6 {
		t.Errorf("Timestamp = %v", &ts)
	}
	var a anypb.Any
	r = wire.Read(twice(&anypb.Any{TypeUrl: "u"}, &anypb.Any{Value: []byte("v")}))
	wire.Any(&r, &a)
	if !r.OK() || a.GetTypeUrl() != "u" || string(a.GetValue()) != "v" {
		t.Errorf("Any = %v", &a)
	}
	var s *structpb.Struct
	r = wire.Read(twice(&structpb.Struct{}, &structpb.Struct{Fields: map[string]*structpb.Value{"k": nil}}))
	wire.Unmarshal(&r, &s)
	if !r.OK() || len(s.GetFields()) != 1 {
		t.Errorf("Struct = %v", s)
	}
}

// The reader checks the values that it reads.
func TestMalformed(t *testing.T) {
	for name, b := range map[string][]byte{
		"no UTF-8":            {0x0a, 0x01, 0xff},
		"no UTF-8 in a part":  {0x9a, 0x03, 0x03, 0x0a, 0x01, 0xff},
		"a varint too long":   {0x20, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02},
		"packed, cut off":     {0x72, 0x01, 0x80},
		"a part longer":       {0x9a, 0x03, 0x7f, 0x0a},
		"a fixed64 cut off":   {0x61, 0x00},
		"a group that is not": {0x0b, 0x14},
	} {
		if m := new(thing); m.read(b) {
			t.Errorf("%s: %x became %+v", name, b, m)
		}
	}
}
