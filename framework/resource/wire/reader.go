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

// A Reader goes through the fields of one encoded message:
//
//	for r.Next() {
//		switch r.Tag() {
//		case 1<<3 | wire.Len:
//			m.Name = r.String()
//		default:
//			r.Skip()
//		}
//	}
//	return r.OK()
//
// After every Next the value must be read or skipped, once. What is malformed ends
// the loop; values that are read until then are zero.
type Reader struct {
	b     []byte // what is still to be read
	arena *Arena // nil: lists are allocated one by one
	tag   uint32
	depth int32 // how deep messages may still be nested below this one; negative: something was malformed
}

// malformed is the depth of a reader that failed: all readers below it have failed.
const malformed = -2 * protowire.DefaultRecursionLimit

// Read is a reader of a message that is not part of another.
func Read(b []byte) Reader { return Reader{b: b, depth: protowire.DefaultRecursionLimit - 1} }

// Next goes to the next field and reports whether there is one.
func (r *Reader) Next() bool { return len(r.b) > 0 && r.next() }

// next is [Reader.Next] before the end.
func (r *Reader) next() bool {
	if b := r.b; b[0] < 0x80 && b[0] >= 1<<3 {
		r.tag, r.b = uint32(b[0]), b[1:]
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
	r.b, r.depth = nil, malformed
	return false
}

// Tag is the field's number, shifted by 3, and its wire type.
func (r *Reader) Tag() uint32 { return r.tag }

// More reports whether there is another value in a packed field.
func (r *Reader) More() bool { return len(r.b) > 0 }

// OK reports whether nothing was malformed.
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
		n := protowire.ConsumeFieldValue(number, typ, r.b)
		if n < 0 {
			r.fail()
			return
		}
		r.b = r.b[n:]
	}
}

// Rest is what is still to be read.
func (r *Reader) Rest() []byte { return r.b }

// Count is how many values the field has from the one on that is to be read: how
// much room its list needs. It reads nothing.
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

// Sub is a reader of the message that is the field's value.
func (r *Reader) Sub() Reader {
	if b := r.b; len(b) > 0 && b[0] < 0x80 && r.depth > 0 {
		if end := int(b[0]) + 1; end <= len(b) {
			r.b = b[end:]
			return Reader{b: b[1:end:end], arena: r.arena, depth: r.depth - 1}
		}
	}
	return r.sub()
}

// sub is [Reader.Sub] for messages of 128 bytes and more, and bad ones.
func (r *Reader) sub() Reader {
	b := r.Bytes()
	if r.depth <= 0 {
		return Reader{depth: malformed}
	}
	return Reader{b: b, arena: r.arena, depth: r.depth - 1}
}

// Inside is a reader of the field's value that counts for no message: an entry of
// a map, or packed scalars.
func (r *Reader) Inside() Reader {
	b := r.Bytes()
	return Reader{b: b, depth: r.depth}
}

// Bytes is the value of a field whose wire type is Len. It has no room to append.
func (r *Reader) Bytes() []byte {
	if len(r.b) > 0 && r.b[0] < 0x80 {
		if end := int(r.b[0]) + 1; end <= len(r.b) {
			v := r.b[1:end:end]
			r.b = r.b[end:]
			return v
		}
	}
	return r.bytes()
}

// bytes is [Reader.Bytes] for values of 128 bytes and more, and bad ones.
func (r *Reader) bytes() []byte {
	n := r.varint()
	if n > uint64(len(r.b)) {
		r.fail()
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
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
	return unsafe.String(unsafe.SliceData(b), len(b)) //nolint:gosec // part of a resource, whose bytes are never changed
}

// Text is a string of a file that does not promise UTF-8.
func (r *Reader) Text() string { return text(r.Bytes()) }

// varint reads a varint.
func (r *Reader) varint() uint64 {
	if len(r.b) > 0 && r.b[0] < 0x80 {
		v := uint64(r.b[0])
		r.b = r.b[1:]
		return v
	}
	v, n := protowire.ConsumeVarint(r.b)
	if n < 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

// Bool is a bool.
func (r *Reader) Bool() bool { return r.varint() != 0 }

// Int32 is an int32 or the number of an enum. It loses what does not fit, as
// protobuf demands; so do the other methods for 32 bits.
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
	v, n := protowire.ConsumeFixed32(r.b)
	if n < 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

// Fixed64 is a fixed64.
func (r *Reader) Fixed64() uint64 {
	v, n := protowire.ConsumeFixed64(r.b)
	if n < 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
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
