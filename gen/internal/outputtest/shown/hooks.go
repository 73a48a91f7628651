package shown

import "github.com/xdsforge/xdsforge/framework/resource"

// doubled is given the value of a hidden field by the name in the descriptor.
func doubled(_ *resource.DecodeContext, small int32) (int32, error) { return 2 * small, nil }
