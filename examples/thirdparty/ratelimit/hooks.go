package ratelimit

import (
	"regexp"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/convert"
)

// identity compiles the expression for a caller's identity.
func identity(_ *resource.DecodeContext, text string) (*regexp.Regexp, error) {
	return regexp.Compile("^(?:" + text + ")$")
}

// withinLimit checks that the limit of no method exceeds the limit of all methods together.
func withinLimit(_ *resource.DecodeContext, u *Update, v *resource.Violations) {
	var p resource.Path
	for name, limit := range convert.Sorted(u.Methods) {
		if limit.PerSecond > u.Limit.PerSecond {
			v.Add(p.Field(convert.Entry("methods", name)+".per_second"), limit.PerSecond, "must not be above limit.per_second")
		}
	}
}
