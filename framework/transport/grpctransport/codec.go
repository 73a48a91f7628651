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

// Unmarshal fills a *[]byte with a copy that the caller owns.
func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	b, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("grpctransport: cannot receive into a %T", v)
	}
	*b = data.Materialize()
	return nil
}
