package client

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/internal/ads"
	"github.com/xdsforge/xdsforge/framework/resource"
)

// TestParts expects parts to end with 64 resources or 64 KiB, whichever comes first.
func TestParts(t *testing.T) {
	for _, tt := range []struct {
		sizes []int
		want  []int // resources of each part
	}{
		{nil, nil},
		{make([]int, partResources), []int{partResources}},
		{make([]int, partResources+1), []int{partResources, 1}},
		{make([]int, 2*partResources+1), []int{partResources, partResources, 1}},
		{[]int{partBytes, 1}, []int{1, 1}},
		{[]int{partBytes - 1, 1, 1}, []int{2, 1}},
		{[]int{partBytes - 2, 1, 5, 1}, []int{3, 1}},
	} {
		news := make([]fresh, len(tt.sizes))
		for i, size := range tt.sizes {
			news[i] = fresh{number: i, body: make([]byte, size)}
		}
		var got []int
		next := 0
		for _, part := range parts(news) {
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
	ch := &channel{encoded: make(map[*resource.Descriptor]encodedNames)}
	typ := new(resource.Descriptor)
	list := strings.Split(strings.Repeat("a,", manyNames-1)+"a", ",")
	first := ch.names(ads.Send{Type: typ, Names: list})
	if again := ch.names(ads.Send{Type: typ, Names: list}); &again[0] != &first[0] {
		t.Error("the same names were encoded twice")
	}
	other := slices.Clone(list)
	other[0] = "b"
	if got := ch.names(ads.Send{Type: typ, Names: other}); bytes.Equal(got, first) {
		t.Error("other names have the encoding of the last request")
	}
	if few := ch.names(ads.Send{Type: typ, Names: list[1:]}); len(few) >= len(first) || len(ch.encoded) != 0 {
		t.Errorf("a name less takes %d bytes of %d, and %d lists are kept", len(few), len(first), len(ch.encoded))
	}
}

// TestAliases expects names of the type only.
func TestAliases(t *testing.T) {
	config, err := bootstrap.Parse([]byte(`{"xds_servers": [{"server_uri": "s", "channel_creds": [{"type": "insecure"}]}], "authorities": {"a": {}}, "node": {"id": "n"}}`))
	if err != nil {
		t.Fatal(err)
	}
	ch := &channel{client: &Client{config: config}}
	got := ch.aliases(&resource.Descriptor{Name: "x.Y"}, []string{"plain", "xdstp://a/x.Y/right", "xdstp://a/x.Z/wrong", "xdstp://%zz/x.Y/bad"})
	var text []string
	for _, n := range got {
		text = append(text, n.String())
	}
	if want := []string{"plain", "xdstp://a/x.Y/right"}; !slices.Equal(text, want) {
		t.Errorf("the aliases are %q, want %q", text, want)
	}
}
