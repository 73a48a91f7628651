package grpctransport

import (
	"fmt"
	"sync"

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

// A buffer is what a stream receives into, message after message. What a large one takes
// is shared with other streams while no message is being looked at, and goes when none
// comes for a while.
type buffer struct {
	bytes []byte
	large *sync.Pool // of *[]byte
	taken *[]byte    // from large; nil: none
}

// small is the length of messages that are received into the stream's own bytes.
const small = 64 << 10

// room makes the buffer n bytes long. What was in it is lost.
func (b *buffer) room(n int) []byte {
	b.release()
	if n <= small {
		if cap(b.bytes) < n {
			b.bytes = make([]byte, n)
		}
		b.bytes = b.bytes[:n]
		return b.bytes
	}
	b.taken, _ = b.large.Get().(*[]byte)
	if b.taken == nil || cap(*b.taken) < n || cap(*b.taken)/16 > n { // too little, or a burden
		fresh := make([]byte, n)
		b.taken = &fresh
	}
	*b.taken = (*b.taken)[:n]
	return *b.taken
}

// message is what was received.
func (b *buffer) message() []byte {
	if b.taken != nil {
		return *b.taken
	}
	return b.bytes
}

// release lets go of what was received.
func (b *buffer) release() {
	if b.taken != nil {
		b.large.Put(b.taken)
		b.taken = nil
	}
}
