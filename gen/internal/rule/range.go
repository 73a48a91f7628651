package rule

import (
	"reflect"
	"time"

	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/emit"
	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// Range is the rule that a number or duration is within bounds.
func (kinds) Range() model.RuleKind {
	return model.RuleKind{
		Keys: []descriptor.Key{
			{Name: "min", Kind: descriptor.KindLiteral, Doc: "The number, duration or sum must be at least this."},
			{Name: "max", Kind: descriptor.KindLiteral, Doc: "The number, duration or sum must be at most this."},
		},
		Examples: []model.RuleExample{
			{Rule: "{at: count, min: 1, max: 10}", Wording: "must be between 1 and 10"},
			{Rule: "{at: timeout, min: 1ms}", Wording: "must be at least 1ms"},
		},
		GoFields: true,
		Build: func(a *model.RuleArgs) model.Rule {
			a.Fits(a.IsNumber(), "a number or Duration")
			lo, hi := a.Bounds(a.Class())
			return bounds{lo: lo, hi: hi}
		},
	}
}

// bounds is a rule that a value is within two bounds, nil where there is none.
type bounds struct {
	lo, hi    *model.Literal
	exclusive bool // the value must not be a bound
}

// Reach implements [model.Rule].
func (bounds) Reach() model.Reach { return model.ReachElement }

// Wording implements [model.Rule].
func (r bounds) Wording() string { return r.within("must be") }

// within is the wording that a subject is within the bounds.
func (r bounds) within(subject string) string {
	above, below := " at least ", " at most "
	if r.exclusive {
		above, below = " above ", " below "
	}
	switch {
	case r.lo == nil:
		return subject + below + r.hi.Text
	case r.hi == nil:
		return subject + above + r.lo.Text
	case r.exclusive:
		return subject + above + r.lo.Text + " and" + below + r.hi.Text
	}
	return subject + " between " + r.lo.Text + " and " + r.hi.Text
}

// Broken implements [emit.Condition].
func (r bounds) Broken(f *emit.Func, x *jen.Statement) (broken, shown jen.Code) {
	below, above := "$ < $", "$ > $"
	if r.exclusive {
		below, above = "$ <= $", "$ >= $"
	}
	var outside []jen.Code
	if r.lo != nil {
		outside = append(outside, f.Src(below, x, f.Literal(*r.lo)))
	}
	if r.hi != nil {
		outside = append(outside, f.Src(above, x, f.Literal(*r.hi)))
	}
	return f.Or(outside...), x
}

// Limits implements [schema.Limited].
func (r bounds) Limits(model.Path) map[string]any {
	lo, hi := "minimum", "maximum"
	if r.exclusive {
		lo, hi = "exclusiveMinimum", "exclusiveMaximum"
	}
	out := make(map[string]any)
	if r.lo != nil {
		out[lo] = r.lo.Value
	}
	if r.hi != nil {
		out[hi] = r.hi.Value
	}
	return out
}

// Schema implements [schema.Value]. That of a duration, which is a text in JSON, has a lower bound of 0 only.
func (r bounds) Schema(p model.Path) (valid map[string]any, zero bool) {
	switch {
	case p.Class() != model.Duration:
		return r.Limits(p), !r.excludes(r.lo, 1) && !r.excludes(r.hi, -1)
	case r.hi != nil || r.lo.Value != time.Duration(0):
		return nil, false
	case r.exclusive:
		return map[string]any{"pattern": "^[^-]*[1-9]"}, true
	}
	return map[string]any{"pattern": "^[^-]"}, true
}

// excludes reports whether 0 is outside of a bound. sign is 1 for the lower and -1 for the upper bound.
func (r bounds) excludes(l *model.Literal, sign float64) bool {
	if l == nil {
		return false
	}
	n := sign * reflect.ValueOf(l.Value).Convert(reflect.TypeFor[float64]()).Float()
	return n > 0 || n == 0 && r.exclusive
}
