package rule

import (
	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/emit"
	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// Between is the rule that a number or duration is between two values, which it must not be.
func (kinds) Between() model.RuleKind {
	return model.RuleKind{
		Keys: []descriptor.Key{
			{Name: "above", Kind: descriptor.KindLiteral, Doc: "The number or duration must be greater than this. Of a list, each element is checked."},
			{Name: "below", Kind: descriptor.KindLiteral, Doc: "The number or duration must be less than this. Of a list, each element is checked."},
		},
		Examples: []model.RuleExample{
			{Rule: "{at: precise, above: 0, below: 1}", Wording: "must be above 0 and below 1"},
			{Rule: "{at: timeout, above: 0s}", Wording: "must be above 0s"},
		},
		GoFields: true,
		Build: func(a *model.RuleArgs) (model.Rule, bool) {
			if !a.Fits(a.IsNumber(), "a number or Duration") {
				return nil, false
			}
			lo, ok := a.Literal("above", a.Class())
			hi, fine := a.Literal("below", a.Class())
			return between{lo, hi}, ok && fine
		},
	}
}

type between struct{ above, below *model.Literal }

// Reach implements [model.Rule].
func (between) Reach() model.Reach { return model.ReachElement }

// Wording implements [model.Rule].
func (r between) Wording() string {
	switch {
	case r.below == nil:
		return "must be above " + r.above.Text
	case r.above == nil:
		return "must be below " + r.below.Text
	}
	return "must be above " + r.above.Text + " and below " + r.below.Text
}

// Broken implements [emit.Condition].
func (r between) Broken(f *emit.Func, x *jen.Statement) (broken, shown jen.Code) {
	var outside []jen.Code
	if r.above != nil {
		outside = append(outside, f.Src("$ <= $", x, f.Literal(*r.above)))
	}
	if r.below != nil {
		outside = append(outside, f.Src("$ >= $", x, f.Literal(*r.below)))
	}
	return f.Or(outside...), x
}

// Schema implements [schema.Value].
func (r between) Schema(p model.Path) (valid map[string]any, zero bool) {
	return limits(p, r.above, r.below, "exclusiveMinimum", "exclusiveMaximum")
}
