package shown

import (
	"errors"
	"math"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// doubled is given the value of a hidden field by the name in the descriptor.
func doubled(_ *resource.DecodeContext, small int32) (int32, error) {
	if small > math.MaxInt32/2 {
		return 0, errors.New("must be doubled without overflow")
	}
	return 2 * small, nil
}
