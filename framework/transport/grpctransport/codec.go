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

// Unmarshal keeps the pieces that a message arrived in, in a *message.
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

// A message is what a stream received last, in the transport's buffers.
type message struct {
	data   mem.BufferSlice
	pieces [][]byte
}

// release gives the buffers back.
func (m *message) release() {
	m.data.Free()
	clear(m.pieces)
	m.data, m.pieces = nil, m.pieces[:0]
}
