package envelope

import (
	"slices"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/google/go-cmp/cmp"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
)

func TestDeltaRequestEncodes(t *testing.T) {
	node := &corev3.Node{Id: "n"}
	for _, c := range []struct {
		req  DeltaRequest
		want *discoveryv3.DeltaDiscoveryRequest
	}{
		{DeltaRequest{}, &discoveryv3.DeltaDiscoveryRequest{}},
		{
			DeltaRequest{TypeURL: "t", Node: marshal(t, node), Subscribe: []string{"a", "*"}, Versions: map[string]string{"a": "1", "": "", "b": "2"}},
			&discoveryv3.DeltaDiscoveryRequest{
				TypeUrl: "t", Node: node, ResourceNamesSubscribe: []string{"a", "*"},
				InitialResourceVersions: map[string]string{"a": "1", "": "", "b": "2"},
			},
		},
		{
			DeltaRequest{TypeURL: "t", Unsubscribe: []string{"b"}, Nonce: "n", Error: "bad"},
			&discoveryv3.DeltaDiscoveryRequest{
				TypeUrl: "t", ResourceNamesUnsubscribe: []string{"b"}, ResponseNonce: "n",
				ErrorDetail: &rpcstatus.Status{Code: 3, Message: "bad"},
			},
		},
	} {
		got := new(discoveryv3.DeltaDiscoveryRequest)
		if err := proto.Unmarshal(c.req.Encode(), got); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, got, protocmp.Transform()); d != "" {
			t.Errorf("%+v:\n%s", c.req, d)
		}
	}
}

func TestParseDeltaResponse(t *testing.T) {
	raw := marshal(t, &discoveryv3.DeltaDiscoveryResponse{
		SystemVersionInfo: "7", Nonce: "n", TypeUrl: "t", ControlPlane: &corev3.ControlPlane{Identifier: "cp"},
		Resources: []*discoveryv3.Resource{
			{Name: "a", Version: "1", Aliases: []string{"x", "y"}, Resource: &anypb.Any{TypeUrl: "t", Value: []byte("body")}, Ttl: durationpb.New(1500 * time.Millisecond)},
			{Name: "beat", Version: "2", Ttl: durationpb.New(time.Second)},
			{Name: "empty"},
			{ResourceName: &discoveryv3.ResourceName{Name: "b"}, Resource: &anypb.Any{TypeUrl: "t"}},
			{Name: "past", Resource: &anypb.Any{TypeUrl: "t"}, Ttl: &durationpb.Duration{Seconds: -1}},
			{Name: "long", Resource: &anypb.Any{TypeUrl: "t"}, Ttl: &durationpb.Duration{Seconds: 1 << 62}},
		},
		RemovedResources:     []string{"gone", "away"},
		RemovedResourceNames: []*discoveryv3.ResourceName{{Name: "too"}},
		ResourceErrors: []*discoveryv3.ResourceError{
			{ResourceName: &discoveryv3.ResourceName{Name: "secret"}, ErrorDetail: &rpcstatus.Status{Code: 7, Message: "not for you"}},
			{},
		},
	})
	r, err := ParseDeltaResponse(raw)
	if err != nil {
		t.Fatal(err)
	}
	if r.Version != "7" || r.Nonce != "n" || r.TypeURL != "t" {
		t.Errorf("envelope = %+v", r)
	}
	got := collect(r)
	for i, failed := range []bool{false, false, true, false, true, false} {
		if (got[i].Err != nil) != failed {
			t.Errorf("resource %d: %+v; failed: want %v", i, got[i], failed)
		}
		got[i].Err = nil
	}
	want := []Resource{
		{Name: "a", Version: "1", Aliases: []string{"x", "y"}, TypeURL: "t", Body: []byte("body"), TTL: 1500 * time.Millisecond},
		{Name: "beat", Version: "2", TTL: time.Second, Heartbeat: true},
		{Name: "empty"},
		{Name: "b", TypeURL: "t", Body: []byte{}},
		{Name: "past"},
		{Name: "long", TypeURL: "t", Body: []byte{}, TTL: time.Duration(1<<63-1) / time.Second * time.Second},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if removed := slices.Collect(r.Removed()); !slices.Equal(removed, []string{"gone", "away", "too"}) {
		t.Errorf("removed = %q", removed)
	}
	if errs := slices.Collect(r.Errors()); !slices.Equal(errs, []ResourceError{{"secret", 7, "not for you"}, {}}) {
		t.Errorf("errors = %+v", errs)
	}
	for range r.Removed() {
		break
	}
}

// The two protocol variants use one field number for different fields.
func TestErrorsOfTheStateOfTheWorld(t *testing.T) {
	r, err := ParseResponse(marshal(t, &discoveryv3.DiscoveryResponse{
		ControlPlane:   &corev3.ControlPlane{Identifier: "no name"},
		ResourceErrors: []*discoveryv3.ResourceError{{ResourceName: &discoveryv3.ResourceName{Name: "a"}, ErrorDetail: &rpcstatus.Status{Code: 5}}},
	}))
	if err != nil {
		t.Fatal(err)
	}
	if errs := slices.Collect(r.Errors()); !slices.Equal(errs, []ResourceError{{Name: "a", Code: 5}}) {
		t.Errorf("errors = %+v", errs)
	}
	if removed := slices.Collect(r.Removed()); removed != nil {
		t.Errorf("removed = %q", removed)
	}
}

func FuzzParseDeltaResponse(f *testing.F) {
	f.Add(marshal(f, &discoveryv3.DeltaDiscoveryResponse{
		SystemVersionInfo: "1", TypeUrl: "t", Nonce: "n", RemovedResources: []string{"r"},
		Resources:      []*discoveryv3.Resource{{Name: "n", Version: "v", Ttl: durationpb.New(time.Second), Resource: &anypb.Any{TypeUrl: "u", Value: []byte("v")}}},
		ResourceErrors: []*discoveryv3.ResourceError{{ResourceName: &discoveryv3.ResourceName{Name: "secret"}, ErrorDetail: &rpcstatus.Status{Code: 7}}},
	}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := ParseDeltaResponse(raw)
		want := new(discoveryv3.DeltaDiscoveryResponse)
		wantErr := proto.Unmarshal(raw, want)
		if err != nil {
			if wantErr == nil {
				t.Fatalf("rejected a response that protobuf accepts: %v", err)
			}
			return
		}
		got, removed, errs := collect(r), slices.Collect(r.Removed()), slices.Collect(r.Errors())
		if wantErr != nil {
			return // the fields inside a resource; the walk may skip them
		}
		if len(got) != len(want.GetResources()) || len(removed) != len(want.GetRemovedResources())+len(want.GetRemovedResourceNames()) {
			t.Fatalf("read %d and %d removed of %v", len(got), len(removed), want)
		}
		for i, e := range want.GetResourceErrors() {
			if d := e.GetErrorDetail(); errs[i] != (ResourceError{e.GetResourceName().GetName(), d.GetCode(), d.GetMessage()}) {
				t.Fatalf("error = %+v, want %v", errs[i], e)
			}
		}
		for i, w := range want.GetResources() {
			checkResource(t, got[i], &anypb.Any{TypeUrl: TypeURLWrapper, Value: marshal(t, w)})
		}
	})
}
