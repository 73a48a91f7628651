package grpctransport

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
)

// rawCodec lets encoded protobuf messages through as they are.
type rawCodec struct{}

var _ encoding.CodecV2 = rawCodec{}

// Name is the content subtype; what passes is protobuf.
func (rawCodec) Name() string { return "proto" }

// Marshal takes a []byte, which grpc-go must not recycle.
func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	b, ok := v.([]byte)
	if !ok {
		return nil, fmt.Errorf("grpctransport: cannot send a %T", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(b)}, nil
}

// Unmarshal joins the pieces that a message arrived in into a *buffer.
func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	b, ok := v.(*buffer)
	if !ok {
		return fmt.Errorf("grpctransport: cannot receive into a %T", v)
	}
	data.CopyTo(b.room(data.Len()))
	return nil
}

// A buffer is what a stream receives into, message after message. Large responses are
// not allocated, cleared and collected again and again.
type buffer struct {
	bytes []byte
	small int // messages in a row that needed little of the room
}

const (
	keepAnyway = 64 << 10 // bytes of room that are not worth giving up
	smallRun   = 16       // small messages in a row after which more room than that is
)

// room makes the buffer n bytes long. What was in it is lost.
func (b *buffer) room(n int) []byte {
	b.small++
	if n > cap(b.bytes)/8 || cap(b.bytes) <= keepAnyway {
		b.small = 0
	}
	if n > cap(b.bytes) || b.small > smallRun {
		b.bytes, b.small = make([]byte, n), 0
	}
	b.bytes = b.bytes[:n]
	return b.bytes
}
