package grpctransport

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
)

// rawCodec passes encoded protobuf messages through unchanged.
type rawCodec struct{}

var _ encoding.CodecV2 = rawCodec{}

// Name returns the content subtype: the messages are protobuf.
func (rawCodec) Name() string { return "proto" }

// Marshal takes a []byte, which grpc-go must not recycle.
func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	b, ok := v.([]byte)
	if !ok {
		return nil, fmt.Errorf("grpctransport: cannot send a %T", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(b)}, nil
}

// Unmarshal keeps the received pieces of a message in a *message.
func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(*message)
	if !ok {
		return fmt.Errorf("grpctransport: cannot receive into a %T", v)
	}
	data.Ref()
	m.data = data
	for _, b := range data {
		m.pieces = append(m.pieces, b.ReadOnlyData())
	}
	return nil
}

// A message is the last message that a stream received, in the transport's buffers.
type message struct {
	data   mem.BufferSlice
	pieces [][]byte
}

// release returns the buffers.
func (m *message) release() {
	m.data.Free()
	clear(m.pieces)
	m.data, m.pieces = nil, m.pieces[:0]
}
