package rule

import (
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
		Build: func(a *model.RuleArgs) (model.Rule, bool) {
			if !a.Fits(a.IsNumber(), "a number or Duration") {
				return nil, false
			}
			lo, hi, ok := a.Bounds(a.Class())
			return bounds{lo, hi}, ok
		},
	}
}

type bounds struct{ min, max *model.Literal }

// Reach implements [model.Rule].
func (bounds) Reach() model.Reach { return model.ReachElement }

// Wording implements [model.Rule].
func (r bounds) Wording() string { return r.within("must be") }

// within is the wording that a subject is within the bounds.
func (r bounds) within(subject string) string {
	switch {
	case r.min == nil:
		return subject + " at most " + r.max.Text
	case r.max == nil:
		return subject + " at least " + r.min.Text
	}
	return subject + " between " + r.min.Text + " and " + r.max.Text
}

// Broken implements [emit.Condition].
func (r bounds) Broken(f *emit.Func, x *jen.Statement) (broken, shown jen.Code) {
	var outside []jen.Code
	if r.min != nil {
		outside = append(outside, f.Src("$ < $", x, f.Literal(*r.min)))
	}
	if r.max != nil {
		outside = append(outside, f.Src("$ > $", x, f.Literal(*r.max)))
	}
	return f.Or(outside...), x
}

// Schema implements [schema.Value].
func (r bounds) Schema(p model.Path) (valid map[string]any, zero bool) {
	return limits(p, r.min, r.max, "minimum", "maximum")
}
