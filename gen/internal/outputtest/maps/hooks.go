package maps

import (
	"errors"
	"math"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/gen/testdata/testpb"
)

// total adds up the values of two maps.
func total(_ *resource.DecodeContext, parts map[uint32]*testpb.Part, weights map[int64]*wrapperspb.UInt32Value) (uint32, error) {
	var sum uint64
	for _, p := range parts {
		sum += uint64(p.GetSize())
	}
	for _, w := range weights {
		sum += uint64(w.GetValue())
	}
	if sum > math.MaxUint32 {
		return 0, errors.New("the total must be at most 4294967295")
	}
	return uint32(sum), nil
}
