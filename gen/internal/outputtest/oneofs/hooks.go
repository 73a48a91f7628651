package oneofs

import (
	"errors"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/gen/testdata/testpb"
)

// Flat is a case that is written by hand.
type Flat struct {
	Count  uint32
	Labels []string
}

func makeFlat(_ *resource.DecodeContext, count uint32, box *testpb.Box) (Flat, error) {
	if count == 0 {
		return Flat{}, errors.New("must have a count to be flat")
	}
	return Flat{Count: count, Labels: []string{box.GetLabel()}}, nil
}
