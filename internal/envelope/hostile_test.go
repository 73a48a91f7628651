package envelope

import (
	"bytes"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
)

// A wrapper that repeats its only field costs no more than its length.
func TestWrapperOfManyParts(t *testing.T) {
	const parts = 20_000
	part := appendString(nil, anyTypeURL, "some.Type/with.a.name")
	var b []byte
	for range parts {
		b = protowire.AppendTag(b, wrapperResource, protowire.BytesType)
		b = protowire.AppendBytes(b, part)
		b = appendString(b, wrapperAliases, "alias")
	}
	before := bytes.Clone(b)
	var r Response
	allocs := testing.AllocsPerRun(1, func() {
		if res := r.wrapped(b); res.Err != nil || res.TypeURL != "some.Type/with.a.name" || len(res.Aliases) != maxAliases {
			t.Errorf("%d aliases, type %q, %v", len(res.Aliases), res.TypeURL, res.Err)
		}
	})
	if allocs > parts+maxAliases+200 { // the type URL of each part, and aliases
		t.Errorf("%v allocations for %d parts", allocs, parts)
	}
	if !bytes.Equal(b, before) {
		t.Error("the parser wrote to the received bytes")
	}
}

func TestTTLThatIsNone(t *testing.T) {
	for _, d := range []*durationpb.Duration{{Seconds: -1}, {Nanos: -1}, {Seconds: 1, Nanos: 1e9}} {
		var r Response
		res := r.wrapped(marshal(t, &discoveryv3.Resource{Name: "a", Resource: &anypb.Any{TypeUrl: "t"}, Ttl: d}))
		if res.Err == nil || res.TTL != 0 || res.Name != "a" {
			t.Errorf("%v: %+v, want an error of that resource", d, res)
		}
	}
}
