package main

import (
	"bytes"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Encoded messages are made by hand: the messages themselves would take the memory in
// this process that they are to take in the client.

// field is a field with a value of wire type LEN.
func field(number protowire.Number, value ...[]byte) []byte {
	b := protowire.AppendTag(nil, number, protowire.BytesType)
	n := 0
	for _, v := range value {
		n += len(v)
	}
	b = protowire.AppendVarint(b, uint64(n))
	return append(b, bytes.Join(value, nil)...)
}

// text is a string field.
func text(number protowire.Number, s string) []byte { return field(number, []byte(s)) }

// fill repeats elements until they have a size; element makes the one with a number.
func fill(size int, element func(i int) []byte) []byte {
	b := make([]byte, 0, size+64)
	for i := 0; len(b) < size; i++ {
		b = append(b, element(i)...)
	}
	return b
}

// repeated is n elements.
func repeated(n int, element func(i int) []byte) []byte {
	b := make([]byte, 0, n)
	for i := range n {
		b = append(b, element(i)...)
	}
	return b
}

// encoded is a message.
func encoded(m proto.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		panic(err) // messages here are made by this program
	}
	return b
}

// The size of a response that gRPC lets through by default.
const usual = 4<<20 - 1<<10

func protoNumber(n int) protowire.Number { return protowire.Number(n) } //nolint:gosec // a constant

// nested is a message within fields, the first of the numbers innermost, so many times.
func nested(depth int, inner []byte, numbers ...protowire.Number) []byte {
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
