// Package wire encodes messages by hand, for the programs that attack a client and a server. The messages themselves would
// take the memory in these programs that they are to take in the attacked process.
package wire

import (
	"bytes"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Field returns a field with a value of wire type LEN.
func Field(number protowire.Number, value ...[]byte) []byte {
	b := protowire.AppendTag(nil, number, protowire.BytesType)
	n := 0
	for _, v := range value {
		n += len(v)
	}
	b = protowire.AppendVarint(b, uint64(n))
	return append(b, bytes.Join(value, nil)...)
}

// Text returns a string field.
func Text(number protowire.Number, s string) []byte { return Field(number, []byte(s)) }

// Fill repeats elements until they have a size; element makes the one with a number.
func Fill(size int, element func(i int) []byte) []byte {
	b := make([]byte, 0, size+64)
	for i := 0; len(b) < size; i++ {
		b = append(b, element(i)...)
	}
	return b
}

// Repeated returns n elements.
func Repeated(n int, element func(i int) []byte) []byte {
	b := make([]byte, 0, n)
	for i := range n {
		b = append(b, element(i)...)
	}
	return b
}

// Encode returns an encoded message.
func Encode(m proto.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		panic(err) // messages here are made by this program
	}
	return b
}

// Usual is a size that gRPC lets through by default.
const Usual = 4<<20 - 1<<10

// Number returns a field number.
func Number(n int) protowire.Number { return protowire.Number(n) } //nolint:gosec // a constant

// Nested returns a message within fields, the first of the numbers innermost, so many times.
func Nested(depth int, inner []byte, numbers ...protowire.Number) []byte {
	levels, size := make([]byte, 0, 16*depth), len(inner)
	for range depth { // written backwards: each level is longer by the size of its length
		for _, number := range numbers {
			header := protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.BytesType), uint64(size))
			slices.Reverse(header)
			levels = append(levels, header...)
			size += len(header)
		}
	}
	slices.Reverse(levels)
	return append(levels, inner...)
}
