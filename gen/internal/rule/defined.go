package rule

import (
	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/emit"
	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// Defined is the rule that the number of an enum has a name.
func (kinds) Defined() model.RuleKind {
	return model.RuleKind{
		Keys:     one(descriptor.KindTrue, "defined", "The number of the enum must be one that its proto file defines. Of a list, each element is checked."),
		Examples: example("{at: color, defined: true}", "must be a defined value"),
		Build: func(a *model.RuleArgs) model.Rule {
			a.Fits(a.Class() == model.Enumeration, "an enum")
			return defined{}
		},
	}
}

type defined struct{}

// Reach implements [model.Rule].
func (defined) Reach() model.Reach { return model.ReachElement }

// Wording implements [model.Rule].
func (defined) Wording() string { return "must be a defined value" }

// Broken implements [emit.Condition].
func (defined) Broken(f *emit.Func, x *jen.Statement) (broken, shown jen.Code) {
	return f.Src("$.Descriptor().Values().ByNumber($.Number()) == nil", x, x), x
}

// Schema implements [schema.Value].
func (defined) Schema(p model.Path) (valid map[string]any, zero bool) {
	values := make([]any, 0, 2*len(p.Leaf().Enum.Values))
	for _, v := range p.Leaf().Enum.Values {
		zero = zero || v.Desc.Number() == 0
		values = append(values, string(v.Desc.Name()), v.Desc.Number())
	}
	return map[string]any{"enum": values}, zero
}
