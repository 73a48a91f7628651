package envelope

import (
	"bytes"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/google/go-cmp/cmp"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/anypb"
)

func marshal(tb testing.TB, m proto.Message) []byte {
	tb.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func TestEncodeIsADiscoveryRequest(t *testing.T) {
	node := &corev3.Node{Id: "n", UserAgentName: "test"}
	for _, c := range []struct {
		req  Request
		want *discoveryv3.DiscoveryRequest
	}{
		{Request{}, &discoveryv3.DiscoveryRequest{}},
		{
			Request{TypeURL: "t", Node: marshal(t, node), Names: []string{"a", "b", ""}},
			&discoveryv3.DiscoveryRequest{TypeUrl: "t", Node: node, ResourceNames: []string{"a", "b", ""}},
		},
		{
			Request{TypeURL: "t", Version: "1", Nonce: "n", Error: "bad"},
			&discoveryv3.DiscoveryRequest{
				TypeUrl: "t", VersionInfo: "1", ResponseNonce: "n",
				ErrorDetail: &rpcstatus.Status{Code: 3, Message: "bad"},
			},
		},
	} {
		got := new(discoveryv3.DiscoveryRequest)
		if err := proto.Unmarshal(c.req.Encode(), got); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, got, protocmp.Transform()); d != "" {
			t.Errorf("%+v:\n%s", c.req, d)
		}
	}
}

func collect(r *Response) []Resource {
	var out []Resource
	for res := range r.Resources() {
		out = append(out, res)
	}
	return out
}

func TestParseResponse(t *testing.T) {
	wrapper, err := anypb.New(&discoveryv3.Resource{
		Name: "named", Version: "9", Aliases: []string{"x"},
		Resource: &anypb.Any{TypeUrl: "type.googleapis.com/test.M", Value: []byte("inner")},
	})
	if err != nil {
		t.Fatal(err)
	}
	raw := marshal(t, &discoveryv3.DiscoveryResponse{
		VersionInfo: "7", Nonce: "n", TypeUrl: "type.googleapis.com/test.M", Canary: true,
		ControlPlane: &corev3.ControlPlane{Identifier: "cp"},
		Resources:    []*anypb.Any{{TypeUrl: "type.googleapis.com/test.M", Value: []byte("plain")}, wrapper, {}},
	})
	r, err := ParseResponse(raw)
	if err != nil {
		t.Fatal(err)
	}
	if r.Version != "7" || r.Nonce != "n" || r.TypeURL != "type.googleapis.com/test.M" {
		t.Errorf("envelope = %+v", r)
	}
	want := []Resource{
		{TypeURL: "type.googleapis.com/test.M", Body: []byte("plain")},
		{Name: "named", Aliases: []string{"x"}, Version: "9", TypeURL: "type.googleapis.com/test.M", Body: []byte("inner")},
		{Body: []byte{}},
	}
	if d := cmp.Diff(want, collect(r)); d != "" {
		t.Error(d)
	}
	for range r.Resources() {
		break // stopping early is fine
	}
}

func TestParseResponseRejectsWhatIsNoResponse(t *testing.T) {
	for what, raw := range map[string][]byte{
		"a cut off tag":     {0x80},
		"a cut off length":  {0x12, 0x05, 0x00},
		"text not UTF-8":    {0x0a, 0x01, 0xff},
		"a stray end group": {0x0c},
	} {
		if r, err := ParseResponse(raw); err == nil {
			t.Errorf("%s: parsed as %+v", what, r)
		}
	}
}

func TestUnreadableResourceIsThatResourceAlone(t *testing.T) {
	good := &anypb.Any{TypeUrl: "t", Value: []byte("good")}
	wrap := func(b []byte) *anypb.Any {
		return &anypb.Any{TypeUrl: TypeURLWrapper, Value: b}
	}
	for what, bad := range map[string]*anypb.Any{
		"garbage for a wrapper": wrap([]byte{0xff}),
		"nothing in a wrapper":  wrap(nil),
		"a name not UTF-8":      wrap([]byte{0x1a, 0x01, 0xff}),
		"garbage in a wrapper":  wrap([]byte{0x12, 0x01, 0xff}),
	} {
		r, err := ParseResponse(marshal(t, &discoveryv3.DiscoveryResponse{Resources: []*anypb.Any{good, bad, good}}))
		if err != nil {
			t.Fatal(err)
		}
		got := collect(r)
		if len(got) != 3 || got[0].Err != nil || got[1].Err == nil || got[1].Body != nil || got[2].Err != nil {
			t.Errorf("%s: %+v", what, got)
		}
	}
}

// TypeURLWrapper is the type URL of a wrapper.
const TypeURLWrapper = "type.googleapis.com/" + wrapperTypeName

// ParseResponse and protobuf accept the same messages, with the same content.
func FuzzParseResponse(f *testing.F) {
	f.Add(marshal(f, &discoveryv3.DiscoveryResponse{VersionInfo: "1", TypeUrl: "t", Nonce: "n", Resources: []*anypb.Any{{TypeUrl: "u", Value: []byte("v")}}}))
	inner := marshal(f, &discoveryv3.Resource{Name: "n", Resource: &anypb.Any{TypeUrl: "u", Value: []byte("v")}})
	f.Add(marshal(f, &discoveryv3.DiscoveryResponse{Resources: []*anypb.Any{{TypeUrl: TypeURLWrapper, Value: inner}}}))
	f.Add([]byte{0x0a, 0x01, 0xff})
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := ParseResponse(raw)
		want := new(discoveryv3.DiscoveryResponse)
		wantErr := proto.Unmarshal(raw, want)
		if err != nil {
			if wantErr == nil {
				t.Fatalf("rejected a response that protobuf accepts: %v", err)
			}
			return
		}
		got := collect(r)
		if wantErr != nil {
			return // the fields inside a resource; the walk may skip them
		}
		if r.Version != want.GetVersionInfo() || r.Nonce != want.GetNonce() || r.TypeURL != want.GetTypeUrl() || len(got) != len(want.GetResources()) {
			t.Fatalf("envelope = %+v with %d resources, want %v", r, len(got), want)
		}
		for i, a := range want.GetResources() {
			checkResource(t, got[i], a)
		}
	})
}

func checkResource(t *testing.T, got Resource, a *anypb.Any) {
	t.Helper()
	name, inner := "", a
	if MessageName(a.GetTypeUrl()) == wrapperTypeName {
		var w discoveryv3.Resource
		if proto.Unmarshal(a.GetValue(), &w) != nil {
			return
		}
		if name, inner = w.GetName(), w.GetResource(); name == "" {
			name = w.GetResourceName().GetName()
		}
		ttl := w.GetTtl().AsDuration()
		if w.GetTtl().CheckValid() != nil || ttl < 0 {
			return
		}
		if got.Err == nil && got.TTL != ttl {
			t.Fatalf("TTL = %v, want %v", got.TTL, ttl)
		}
		if inner == nil {
			if got.Heartbeat != (ttl > 0) || got.Heartbeat != (got.Err == nil) {
				t.Fatalf("an empty wrapper was read as %+v", got)
			}
			return
		}
	}
	if got.Err != nil || got.Name != name || got.TypeURL != inner.GetTypeUrl() || !bytes.Equal(got.Body, inner.GetValue()) {
		t.Fatalf("resource = %+v, want %q %v", got, name, inner)
	}
}

// A walk over a response allocates only the names of the resources.
func TestWalkingDoesNotCopyBodies(t *testing.T) {
	resources := appendString(nil, responseTypeURL, "t")
	for range 1000 {
		resources = protowire.AppendTag(resources, responseResources, protowire.BytesType)
		resources = protowire.AppendBytes(resources, marshal(t, &anypb.Any{TypeUrl: "t", Value: make([]byte, 1000)}))
	}
	allocs := testing.AllocsPerRun(10, func() {
		r, err := ParseResponse(resources)
		if err != nil {
			t.Fatal(err)
		}
		for range r.Resources() {
		}
	})
	if allocs > 10 {
		t.Errorf("%v allocations for 1000 resources, want a few for all of them", allocs)
	}
}
