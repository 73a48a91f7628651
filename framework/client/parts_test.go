package client

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/internal/ads"
	"github.com/xdsforge/xdsforge/framework/internal/authority"
	"github.com/xdsforge/xdsforge/framework/resource"
)

// TestParts expects parts to end with 64 resources or 64 KiB, whichever comes first.
func TestParts(t *testing.T) {
	for _, tt := range []struct {
		sizes []int
		want  []int // resources of each part
	}{
		{nil, nil},
		{make([]int, batchResources), []int{batchResources}},
		{make([]int, batchResources+1), []int{batchResources, 1}},
		{make([]int, 2*batchResources+1), []int{batchResources, batchResources, 1}},
		{[]int{batchBytes, 1}, []int{1, 1}},
		{[]int{batchBytes - 1, 1, 1}, []int{2, 1}},
		{[]int{batchBytes - 2, 1, 5, 1}, []int{3, 1}},
	} {
		news := make([]fresh, len(tt.sizes))
		for i, size := range tt.sizes {
			news[i] = fresh{number: i, body: make([]byte, size)}
		}
		var got []int
		next := 0
		for _, part := range batches(news) {
			got = append(got, len(part))
			for _, f := range part {
				if f.number != next {
					t.Errorf("sizes %v: the resource %d is in the place of %d", tt.sizes, f.number, next)
				}
				next++
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("sizes %v make parts of %v resources, want %v", tt.sizes, got, tt.want)
		}
	}
}

// TestEncodedNamesAreKept expects the names of the last request to be encoded once, and others
// anew.
func TestEncodedNamesAreKept(t *testing.T) {
	ses := &session{encoded: make(map[*resource.Descriptor]encodedNames)}
	typ := new(resource.Descriptor)
	list := strings.Split(strings.Repeat("a,", manyNames-1)+"a", ",")
	first := ses.names(&ads.Request{Type: typ, Names: list})
	if again := ses.names(&ads.Request{Type: typ, Names: list}); &again[0] != &first[0] {
		t.Error("the same names were encoded twice")
	}
	other := slices.Clone(list)
	other[0] = "b"
	if got := ses.names(&ads.Request{Type: typ, Names: other}); bytes.Equal(got, first) {
		t.Error("other names have the encoding of the last request")
	}
	if few := ses.names(&ads.Request{Type: typ, Names: list[1:]}); len(few) >= len(first) || len(ses.encoded) != 0 {
		t.Errorf("a name less takes %d bytes of %d, and %d lists are kept", len(few), len(first), len(ses.encoded))
	}
}

// TestAliases expects names of the type only.
func TestAliases(t *testing.T) {
	config, err := bootstrap.Parse([]byte(`{"xds_servers": [{"server_uri": "s", "channel_creds": [{"type": "insecure"}]}], "authorities": {"a": {}}, "node": {"id": "n"}}`))
	if err != nil {
		t.Fatal(err)
	}
	ses := &session{link: link{client: &Client{config: config}}}
	got := ses.aliases(&resource.Descriptor{Name: "x.Y"}, []string{"plain", "xdstp://a/x.Y/right", "xdstp://a/x.Z/wrong", "xdstp://%zz/x.Y/bad"})
	var text []string
	for _, n := range got {
		text = append(text, n.String())
	}
	if want := []string{"plain", "xdstp://a/x.Y/right"}; !slices.Equal(text, want) {
		t.Errorf("the aliases are %q, want %q", text, want)
	}
}

// TestResultsOfOneAuthority expects all results for the authority that they belong to, and none for
// another one.
func TestResultsOfOneAuthority(t *testing.T) {
	oldStyle, a := new(authorityScope), new(authorityScope)
	c := &Client{oldStyle: oldStyle, authorities: map[string]*authorityScope{"a": a}}
	d := decoded{results: []authority.Result{{Name: old(t, "one")}, {Name: old(t, "two")}}}
	if results, at := d.of(c, oldStyle); len(results) != 2 || at != nil {
		t.Errorf("old-style names have the results %v at %v, want all of them", results, at)
	}
	if results, _ := d.of(c, a); len(results) != 0 {
		t.Errorf("the authority a has the results %v, want none", results)
	}
}

// TestVersionOfAResource expects that of its wrapper, or else that of the response.
func TestVersionOfAResource(t *testing.T) {
	c, typ := resting(t)
	typ.PeekName = func(b []byte) (string, error) { return string(b), nil }
	wrapped, err := proto.Marshal(&discoveryv3.Resource{Name: "wrapped", Version: "own", Resource: &anypb.Any{TypeUrl: typ.URL(), Value: []byte("wrapped")}})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := proto.Marshal(&discoveryv3.DiscoveryResponse{VersionInfo: "all", TypeUrl: typ.URL(), Resources: []*anypb.Any{
		{TypeUrl: typ.URL(), Value: []byte("plain")},
		{TypeUrl: "type.googleapis.com/envoy.service.discovery.v3.Resource", Value: wrapped},
	}})
	if err != nil {
		t.Fatal(err)
	}
	w := new(scratch)
	if err := w.response.Parse(raw, false); err != nil {
		t.Fatal(err)
	}
	ses := &session{link: link{client: c}}
	for i, want := range []string{"all", "own"} {
		ses.mention(w, typ, uint32(i))
		if len(w.asks.names) != i+1 {
			t.Fatalf("resource %d has no name: %v", i, w.fresh)
		}
		if got := w.asks.names[i].says.Version; got != want {
			t.Errorf("%s has version %q, want %q", w.asks.names[i].says.Name, got, want)
		}
	}
}

// TestResponsesHaveABudget expects the resources of a response to share its budget.
func TestResponsesHaveABudget(t *testing.T) {
	c, typ := resting(t)
	typ.Decode = func(dc *resource.DecodeContext, body []byte) (resource.Update, error) {
		return &plainUpdate{dc.Meta(body)}, nil
	}
	c.limits.ResponseSize = 5 * 512 // a resource without elements costs 512 bytes
	ses := &session{link: link{client: c, server: serverOf(t, "s")}}
	w := new(scratch)
	for i := range 8 {
		w.results = append(w.results, authority.Result{Name: updateOf(t, i, nil).Name()})
		w.fresh = append(w.fresh, fresh{number: i + 1, result: i, body: []byte("x")})
	}
	ses.updates(w, typ, nil)
	if w.budget != nil {
		t.Error("a response without news has a budget")
	}
	ses.updates(w, typ, w.fresh)
	for i, r := range w.results {
		if got, want := r.Err == nil, i < 5; got != want {
			t.Errorf("resource %d is decoded: %t, want %t: %v", i, got, want, r.Err)
		}
	}
	first := w.budget
	ses.updates(w, typ, w.fresh[:1])
	if w.budget != first {
		t.Error("more resources of a response have another budget")
	}
}
