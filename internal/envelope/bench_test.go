package envelope

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/anypb"
)

// The benchmark parses a response of 3 MB, in pieces as grpc-go receives it.
func BenchmarkParsePieces(b *testing.B) {
	resource := marshal(b, &anypb.Any{TypeUrl: "type.googleapis.com/test", Value: make([]byte, 300)})
	var raw []byte
	for range 10_000 {
		raw = protowire.AppendTag(raw, responseResources, protowire.BytesType)
		raw = protowire.AppendBytes(raw, resource)
	}
	raw = appendString(raw, responseTypeURL, "type.googleapis.com/test")
	pieces := slices.Collect(slices.Chunk(raw, 16<<10))
	var r Response
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if err := r.ParsePieces(pieces, false); err != nil {
			b.Fatal(err)
		}
		for i := range r.Len() {
			if _, ok := r.Plain(i); !ok {
				b.Fatal("a resource is not plain")
			}
		}
	}
}
