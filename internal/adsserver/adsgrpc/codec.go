package adsgrpc

import (
	"bytes"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // the codec of all other services
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/emptypb"
)

// ServerOptions returns the options of a gRPC server that sends shared bytes without a copy. Other
// services of the server are not affected.
func ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{grpc.ForceServerCodecV2(codec{encoding.GetCodecV2("proto")})}
}

// codec passes frames through, and other messages to the codec of protobuf.
type codec struct{ encoding.CodecV2 }

// Marshal implements [encoding.CodecV2].
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	f, ok := v.(*frame)
	if !ok {
		return c.CodecV2.Marshal(v)
	}
	list := make(mem.BufferSlice, 0, len(f.pieces))
	for _, p := range f.pieces {
		list = append(list, mem.SliceBuffer(p))
	}
	return list, nil
}

// Unmarshal implements [encoding.CodecV2].
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	f, ok := v.(*frame)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	f.buffer = data.MaterializeToBuffer(mem.DefaultBufferPool())
	return nil
}

// A frame is an encoded message. For servers without the codec, it is an empty message whose fields
// are all unknown.
type frame struct {
	pieces [][]byte   // to send
	buffer mem.Buffer // received with the codec
	empty  emptypb.Empty
}

var _ proto.Message = (*frame)(nil)

// ProtoReflect implements [proto.Message].
func (f *frame) ProtoReflect() protoreflect.Message {
	m := f.empty.ProtoReflect()
	if f.pieces != nil {
		m.SetUnknown(bytes.Join(f.pieces, nil))
	}
	return m
}

// received returns the encoded message, which is valid until release.
func (f *frame) received() []byte {
	if f.buffer != nil {
		return f.buffer.ReadOnlyData()
	}
	return f.empty.ProtoReflect().GetUnknown()
}

func (f *frame) release() {
	if f.buffer != nil {
		f.buffer.Free()
		f.buffer = nil
	}
	f.empty.Reset()
}

// Receive receives an encoded message of a stream of any service, and passes it to f, which must not keep it.
func Receive(ss grpc.ServerStream, f func(raw []byte) error) error {
	var x frame
	if err := ss.RecvMsg(&x); err != nil {
		return err
	}
	defer x.release()
	return f(x.received())
}
