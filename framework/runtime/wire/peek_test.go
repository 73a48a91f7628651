package wire

import (
	"slices"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func TestPeekString(t *testing.T) {
	body, err := proto.Marshal(&clusterv3.Cluster{Name: "c", AltStatName: "alt", PerConnectionBufferLimitBytes: wrapperspb.UInt32(1)})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := PeekString(body, 1); err != nil || got != "c" {
		t.Errorf("name = %q, %v", got, err)
	}
	twice := append(slices.Clone(body), 0x0a, 1, 'd') // the last one wins
	if got, err := PeekString(twice, 1); err != nil || got != "d" {
		t.Errorf("name = %q, %v", got, err)
	}
	if got, err := PeekString(nil, 1); err != nil || got != "" {
		t.Errorf("name of nothing = %q, %v", got, err)
	}
	for cut := range body {
		m := new(clusterv3.Cluster)
		if _, err := PeekString(body[:cut], 1); (err == nil) != (proto.Unmarshal(body[:cut], m) == nil) {
			t.Errorf("the first %d bytes: %v", cut, err)
		}
	}
}
