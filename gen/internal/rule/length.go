package rule

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
	"github.com/xdsforge/xdsforge/gen/internal/emit"
	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// Length is the rule that a list, map, text or bytes has a length within bounds.
func (kinds) Length() model.RuleKind {
	return model.RuleKind{
		Keys: []descriptor.Key{
			{Name: "min_len", Kind: descriptor.KindSize, Doc: "There must be at least as many elements, or bytes of a text."},
			{Name: "max_len", Kind: descriptor.KindSize, Doc: "There must be at most as many elements, or bytes of a text."},
		},
		Examples: []model.RuleExample{
			{Rule: "{at: text, min_len: 1, max_len: 10}", Wording: "must have between 1 and 10 bytes"},
			{Rule: "{at: tags, min_len: 1}", Wording: "must not be empty"},
			{Rule: "{at: tags, max_len: 1}", Wording: "must have at most 1 element"},
		},
		GoFields: true,
		Build:    buildLength,
	}
}

func buildLength(a *model.RuleArgs) (model.Rule, bool) {
	if !a.Fits(a.HasLen(), "repeated, a map, a string or bytes") {
		return nil, false
	}
	elements := a.Elements()
	r := length{a.Size("min_len", 0), a.Size("max_len", -1), !elements && a.Class() == model.String, "byte"}
	if elements {
		r.unit = "element"
	}
	at := a.Arg("min_len")
	switch {
	case at.Given() && r.min == 0:
		a.Report(at, diag.BadValue, "min_len = 0 has no effect")
		return nil, false
	case r.max >= 0 && r.min > r.max:
		a.Report(at, diag.BadValue, "min_len = %d is above max_len = %d", r.min, r.max)
		return nil, false
	}
	return r, true
}

type length struct {
	min, max int    // max is -1 if there is none
	text     bool   // the value is a string, which a violation shows
	unit     string // byte or element
}

// Reach implements [model.Rule].
func (length) Reach() model.Reach { return model.ReachField }

// Wording implements [model.Rule].
func (r length) Wording() string {
	count := func(n int) string {
		if n == 1 {
			return "1 " + r.unit
		}
		return fmt.Sprintf("%d %ss", n, r.unit)
	}
	switch {
	case r.min == 1 && r.max < 0:
		return "must not be empty"
	case r.max == 0:
		return "must be empty"
	case r.max < 0:
		return "must have at least " + count(r.min)
	case r.min == 0:
		return "must have at most " + count(r.max)
	case r.min == r.max:
		return "must have " + count(r.min)
	}
	return fmt.Sprintf("must have between %d and %s", r.min, count(r.max))
}

// Broken implements [emit.Condition].
func (r length) Broken(f *emit.Func, x *jen.Statement) (broken, shown jen.Code) {
	if r.text {
		shown = x
	}
	switch {
	case r.max < 0 && r.min == 1 && r.text:
		return f.Src(`$ == ""`, x), shown
	case r.max == 0 && r.text:
		return f.Src(`$ != ""`, x), shown
	case r.max < 0 && r.min == 1:
		return f.Src("len($) == 0", x), shown
	case r.max < 0:
		return f.Src("len($) < $", x, r.min), shown
	case r.min == 0:
		return f.Src("len($) > $", x, r.max), shown
	case r.min == r.max:
		return f.Src("len($) != $", x, r.min), shown
	}
	return f.Or(f.Src("len($) < $", x, r.min), f.Src("len($) > $", x, r.max)), shown
}

// Schema implements [schema.Value]. That of a text or bytes has no numbers of bytes, which JSON Schema
// does not count.
func (r length) Schema(p model.Path) (valid map[string]any, zero bool) {
	switch {
	case p.ToList():
		return r.keys("minItems", "maxItems"), r.min == 0
	case p.Class() == model.Map:
		return r.keys("minProperties", "maxProperties"), r.min == 0
	case r.min == 1 && r.max < 0:
		return r.keys("minLength", ""), false
	}
	return nil, false
}

// keys are the limits under the given keys.
func (r length) keys(lo, hi string) map[string]any {
	out := make(map[string]any)
	if r.min > 0 {
		out[lo] = r.min
	}
	if r.max >= 0 {
		out[hi] = r.max
	}
	return out
}
