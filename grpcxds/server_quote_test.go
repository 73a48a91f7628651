package grpcxds

import (
	"testing"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// A quotingCodec is that of a service in a language that writes text which is not UTF-8: it adds such a text to each response.
type quotingCodec struct{ encoding.CodecV2 }

// Marshal implements [encoding.CodecV2].
func (c quotingCodec) Marshal(v any) (mem.BufferSlice, error) {
	raw, err := c.CodecV2.Marshal(v)
	if err != nil {
		return nil, err
	}
	text := protowire.AppendString(protowire.AppendTag(nil, 2, protowire.BytesType), "no: \xff") // google.rpc.Status.message
	switch m := v.(type) {
	case *authv3.CheckResponse:
		text = protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), text) // status
	case *extprocv3.ProcessingResponse:
		text = protowire.AppendString(protowire.AppendTag(nil, 5, protowire.BytesType), "no: \xff") // ImmediateResponse.details
		r := m.ProtoReflect()
		text = protowire.AppendBytes(protowire.AppendTag(nil, r.WhichOneof(r.Descriptor().Oneofs().ByName("response")).Number(), protowire.BytesType), text)
	}
	return append(raw, mem.SliceBuffer(text)), nil
}

// A service that quotes the caller's bytes in its denial, in a language that sends them, still denies.
func TestQuotedBytesDoNotEscape(t *testing.T) {
	guards(t, []grpc.ServerOption{grpc.ForceServerCodecV2(quotingCodec{encoding.GetCodecV2("proto")})}, func(t *testing.T, g *guarded) {
		if st := g.call(g.dial()); st.Code() == codes.OK || g.ran.Load() > 0 {
			t.Errorf("%v; the handler ran %d times; want a failure", st, g.ran.Load())
		}
	})
}
