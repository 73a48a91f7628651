package wire

import (
	"math"
	"unicode/utf8"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
)

// The wire types of protobuf: the lower three bits of a tag.
const (
	Varint  = uint32(protowire.VarintType)
	Fixed64 = uint32(protowire.Fixed64Type)
	Len     = uint32(protowire.BytesType)
	Fixed32 = uint32(protowire.Fixed32Type)
)

// A Reader iterates over the fields of one encoded message:
//
//	outer := r.Enter()
//	for r.Next() {
//		switch r.Tag() {
//		case 1<<3 | wire.Len:
//			m.Name = r.String()
//		case 2<<3 | wire.Len:
//			m.Part.parse(r) // enters it, as this does
//		default:
//			r.Skip()
//		}
//	}
//	r.Leave(outer)
//
// After every Next the value must be read, entered or skipped, once. Malformed bytes end all loops.
// Values read until then are zero.
type Reader struct {
	b     []byte // the bytes up to the end of the message
	at    int    // the next position; an index, because moving a pointer costs more during garbage collection
	arena *Arena // nil: lists are allocated one by one
	tag   uint32 // 0: nothing was read yet
	depth int32  // how deep further messages may be nested; negative: something was malformed

	budget *Budget // nil: everything may be allocated
}

// malformed is the depth of a reader that failed.
const malformed = -1

// Read returns a reader of an outermost message.
func Read(b []byte) Reader { return Reader{b: b, depth: protowire.DefaultRecursionLimit} }

// Within is [Read] for a part of a resource, with the resource's budget.
func (b *Budget) Within(part []byte) Reader {
	r := Read(part)
	r.budget = b
	return r
}

// Next goes to the next field and reports whether there is one.
func (r *Reader) Next() bool { return r.at < len(r.b) && r.next() }

// next is [Reader.Next] before the end.
func (r *Reader) next() bool {
	if c := r.b[r.at]; c-1<<3 < 0x80-1<<3 { // a tag of one byte
		r.tag = uint32(c)
		r.at++
		return true
	}
	tag := r.varint()
	if number := tag >> 3; number < uint64(protowire.MinValidNumber) || number > uint64(protowire.MaxValidNumber) {
		return r.fail()
	}
	r.tag = uint32(tag) // a valid number has 29 bits
	return true
}

// fail ends the reading.
func (r *Reader) fail() bool {
	r.b, r.at, r.depth = nil, 0, malformed
	return false
}

// Tag is the field's number, shifted by 3, and its wire type.
func (r *Reader) Tag() uint32 { return r.tag }

// More reports whether there is another value in a packed field.
func (r *Reader) More() bool { return r.at < len(r.b) }

// OK reports whether nothing was malformed, and the budget denied nothing.
func (r *Reader) OK() bool { return r.depth >= 0 }

// Skip passes over the value of a field.
func (r *Reader) Skip() {
	switch r.tag & 7 {
	case Varint:
		r.varint()
	case Len:
		r.Bytes()
	default:
		number, typ := protowire.DecodeTag(uint64(r.tag))
		r.consumed(protowire.ConsumeFieldValue(number, typ, r.Rest()))
	}
}

// consumed skips n bytes. A negative n means that they are malformed.
func (r *Reader) consumed(n int) bool {
	if n < 0 {
		return r.fail()
	}
	r.at += n
	return true
}

// Rest returns the bytes that have not been read yet.
func (r *Reader) Rest() []byte { return r.b[r.at:] }

// Count returns the number of the field's values from the next one on: the room that its list
// needs. It reads nothing.
func (r *Reader) Count() int {
	ahead := *r
	n := 1
	for ahead.Skip(); ahead.Next(); ahead.Skip() {
		if ahead.tag == r.tag {
			n++
		}
	}
	return n
}

// An Outer is the state with which a reader continues after it leaves a value.
type Outer struct {
	end   int
	depth int32
}

// Enter enters the message that is the field's value. Before the first read, it enters the message
// that the reader was made for.
func (r *Reader) Enter() Outer {
	o := Outer{end: len(r.b), depth: r.depth}
	if start, end := r.short(); end > 0 && r.tag != 0 && r.depth > 0 {
		r.b, r.at = r.b[:end], start
		r.depth--
		return o
	}
	return r.enter()
}

// enter is [Reader.Enter] of messages of 128 bytes and more, of the outermost one, and
// of bad ones.
func (r *Reader) enter() Outer {
	if r.depth == 0 {
		r.fail()
	}
	o := r.Inside()
	r.depth--
	return o
}

// Inside is [Reader.Enter] for values that do not count as messages: an entry of a map, or packed
// scalars.
func (r *Reader) Inside() Outer {
	o := Outer{end: len(r.b), depth: r.depth}
	if r.tag != 0 {
		start, end := r.extent()
		r.b, r.at = r.b[:end], start
	}
	return o
}

// Leave returns to the enclosing message, behind the value.
func (r *Reader) Leave(o Outer) {
	if r.depth >= 0 {
		r.at, r.b, r.depth = len(r.b), r.b[:o.end], o.depth
	}
}

// Bytes is the value of a field whose wire type is Len. It has no room to append.
func (r *Reader) Bytes() []byte {
	start, end := r.extent()
	return r.b[start:end:end]
}

// extent reads a value whose wire type is Len and returns its position.
func (r *Reader) extent() (start, end int) {
	if start, end = r.short(); end > 0 {
		r.at = end
		return start, end
	}
	n := r.varint()
	if n > uint64(len(r.Rest())) {
		r.fail()
		return 0, 0
	}
	start = r.at
	r.at += int(n) //nolint:gosec // no more than there is
	return start, r.at
}

// short is [Reader.extent] for values of up to 127 bytes. An end of 0 means that the value is
// another one. It reads nothing.
func (r *Reader) short() (start, end int) {
	if at := r.at; at < len(r.b) {
		if n := int(r.b[at]); n < 0x80 && n < len(r.b)-at {
			return at + 1, at + 1 + n
		}
	}
	return 0, 0
}

// Blob is [Reader.Bytes] of a field that has no presence: none is nil.
func (r *Reader) Blob() []byte {
	if b := r.Bytes(); len(b) > 0 {
		return b
	}
	return nil
}

// String is a string, which must be UTF-8.
func (r *Reader) String() string {
	b := r.Bytes()
	if !utf8.Valid(b) {
		r.fail()
		return ""
	}
	return text(b)
}

// text makes a string of bytes without copying them.
func text(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b)) //nolint:gosec // nobody changes the bytes while the string is in use
}

// Text is a string of a file that does not promise UTF-8.
func (r *Reader) Text() string { return text(r.Bytes()) }

// varint reads a varint.
func (r *Reader) varint() uint64 {
	if r.at < len(r.b) && r.b[r.at] < 0x80 {
		r.at++
		return uint64(r.b[r.at-1])
	}
	return r.longVarint()
}

// longVarint is [Reader.varint] of more than one byte.
func (r *Reader) longVarint() uint64 {
	v, n := protowire.ConsumeVarint(r.Rest())
	if !r.consumed(n) {
		return 0
	}
	return v
}

// Bool is a bool.
func (r *Reader) Bool() bool { return r.varint() != 0 }

// Int32 returns an int32 or the number of an enum. It truncates larger values, as protobuf
// requires; so do the other methods for 32 bits.
func (r *Reader) Int32() int32 { return int32(r.varint()) } //nolint:gosec // see above

// Int64 is an int64.
func (r *Reader) Int64() int64 { return int64(r.varint()) } //nolint:gosec // the same bits

// Uint32 is a uint32.
func (r *Reader) Uint32() uint32 { return uint32(r.varint()) } //nolint:gosec // see Int32

// Uint64 is a uint64.
func (r *Reader) Uint64() uint64 { return r.varint() }

// Sint32 is a sint32.
func (r *Reader) Sint32() int32 {
	return int32(protowire.DecodeZigZag(r.varint() & math.MaxUint32)) //nolint:gosec // see Int32
}

// Sint64 is a sint64.
func (r *Reader) Sint64() int64 { return protowire.DecodeZigZag(r.varint()) }

// Fixed32 is a fixed32.
func (r *Reader) Fixed32() uint32 {
	v, n := protowire.ConsumeFixed32(r.Rest())
	if !r.consumed(n) {
		return 0
	}
	return v
}

// Fixed64 is a fixed64.
func (r *Reader) Fixed64() uint64 {
	v, n := protowire.ConsumeFixed64(r.Rest())
	if !r.consumed(n) {
		return 0
	}
	return v
}

// Sfixed32 is an sfixed32.
func (r *Reader) Sfixed32() int32 { return int32(r.Fixed32()) } //nolint:gosec // the same bits

// Sfixed64 is an sfixed64.
func (r *Reader) Sfixed64() int64 { return int64(r.Fixed64()) } //nolint:gosec // the same bits

// Float is a float.
func (r *Reader) Float() float32 { return math.Float32frombits(r.Fixed32()) }

// Double is a double.
func (r *Reader) Double() float64 { return math.Float64frombits(r.Fixed64()) }
