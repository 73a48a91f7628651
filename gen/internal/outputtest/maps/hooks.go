package maps

import (
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/gen/testdata/testpb"
)

// total adds up the values of two maps.
func total(_ *resource.DecodeContext, parts map[uint32]*testpb.Part, weights map[int64]*wrapperspb.UInt32Value) (uint32, error) {
	var sum uint32
	for _, p := range parts {
		sum += p.GetSize()
	}
	for _, w := range weights {
		sum += w.GetValue()
	}
	return sum, nil
}
