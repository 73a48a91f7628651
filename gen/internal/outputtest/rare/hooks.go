package rare

import (
	"github.com/xdsforge/xdsforge/framework/resource"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func doubled(_ *resource.DecodeContext, n int64) (int64, error) { return 2 * n, nil } //nolint:unparam // the type of a hook

func scores(_ *resource.DecodeContext, m *wrapperspb.DoubleValue) (map[string]float64, error) { //nolint:unparam // the type of a hook
	if m == nil {
		return nil, nil
	}
	return map[string]float64{"score": m.GetValue()}, nil
}
