package lrs

import (
	"strconv"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// A list of clusters of any length has a bound. Names beyond it are counted.
func TestListedClustersAreBounded(t *testing.T) {
	var msg []byte
	for i := range MaxClusters + 5 {
		name := strconv.Itoa(i)
		for range 1 + i/(MaxClusters-5) { // the last ones are there twice
			msg = protowire.AppendTag(msg, responseClusters, protowire.BytesType)
			msg = protowire.AppendString(msg, name)
		}
	}
	in, err := ParseResponse(msg)
	if err != nil || len(in.Clusters) != MaxClusters || in.Ignored != 10 {
		t.Fatalf("%d clusters, %d ignored, %v; want %d and 10", len(in.Clusters), in.Ignored, err, MaxClusters)
	}
}
