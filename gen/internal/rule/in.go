package rule

import (
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/emit"
	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/schema"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// In is the rule that a value is one of some.
func (kinds) In() model.RuleKind {
	return choice("in", "The value must be one of these.", false, []model.RuleExample{
		{Rule: "{at: text, in: [a, b]}", Wording: "must be one of \"a\", \"b\""},
		{Rule: "{at: color, in: COLOR_RED}", Wording: "must be COLOR_RED"},
	})
}

// choice is a kind of rule that a value is one of some, or none of them.
func choice(key, doc string, not bool, examples []model.RuleExample) model.RuleKind {
	return model.RuleKind{
		Keys:     one(descriptor.KindLiterals, key, doc+" It is a bool, number, string or enum; of a list, each element is checked."),
		Examples: examples,
		GoFields: true,
		Build: func(a *model.RuleArgs) model.Rule {
			a.Fits(a.Class().Key(), "a bool, number, string or enum")
			return in{alternatives{a.Literals(key), not}}
		},
	}
}

// alternatives are literals of which a value must have one, or must have none.
type alternatives struct {
	values []model.Literal
	not    bool // it must have none
}

// Reach implements [model.Rule].
func (alternatives) Reach() model.Reach { return model.ReachElement }

// texts are the literals as they are shown to people.
func (r alternatives) texts() []string {
	return slice.Map(r.values, func(l model.Literal) string { return l.Text })
}

// broken is the Broken of [emit.Condition]. wrong returns the condition under which one literal makes x wrong: that x has it, if it
// must not, or else that x does not have it.
func (r alternatives) broken(f *emit.Func, x jen.Code, wrong func(model.Literal) jen.Code) (broken, shown jen.Code) {
	conds := slice.Map(r.values, wrong)
	if r.not {
		return f.Or(conds...), x
	}
	return f.And(conds...), x
}

// schema is the Schema of [schema.Value], from that of values with one of the literals.
func (r alternatives) schema(valid map[string]any, zero bool) (map[string]any, bool) {
	if r.not {
		return map[string]any{"not": valid}, !zero
	}
	return valid, zero
}

type in struct{ alternatives }

// Wording implements [model.Rule].
func (r in) Wording() string {
	switch {
	case !r.not:
		return emit.OneOf(r.texts())
	case len(r.values) == 1:
		return "must not be " + r.values[0].Text
	}
	return "must be none of " + strings.Join(r.texts(), ", ")
}

// Broken implements [emit.Condition].
func (r in) Broken(f *emit.Func, x *jen.Statement) (broken, shown jen.Code) {
	return r.broken(f, x, func(l model.Literal) jen.Code { return f.Is(x, l, r.not) })
}

// Schema implements [schema.Value].
func (r in) Schema(model.Path) (valid map[string]any, zero bool) {
	values, zero, ok := schema.JSON(r.values)
	if !ok {
		return nil, false
	}
	return r.schema(map[string]any{"enum": values}, zero)
}
