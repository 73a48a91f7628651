package ratelimit

import (
	"regexp"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/convert"
)

// identity makes the expression for a caller's identity.
func identity(_ *resource.DecodeContext, text string) (*regexp.Regexp, error) {
	return regexp.Compile("^(?:" + text + ")$")
}

// withinLimit demands that no method may do more than all of them together.
func withinLimit(_ *resource.DecodeContext, u *Update, v *resource.Violations) {
	var p resource.Path
	for name, limit := range convert.Sorted(u.Methods) {
		if limit.PerSecond > u.Limit.PerSecond {
			v.Add(p.Field(convert.Entry("methods", name)+".per_second"), limit.PerSecond, "must not be above limit.per_second")
		}
	}
}
