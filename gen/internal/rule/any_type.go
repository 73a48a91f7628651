package rule

import (
	"regexp"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
	"github.com/xdsforge/xdsforge/gen/internal/emit"
	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// AnyType is the rule that an Any holds one of some messages.
func (kinds) AnyType() model.RuleKind {
	return model.RuleKind{
		Keys: one(descriptor.KindMessages, "any_type", "The google.protobuf.Any must hold one of these messages."),
		Examples: []model.RuleExample{
			{Rule: "{at: extension, any_type: google.protobuf.BoolValue}", Wording: "must be a google.protobuf.BoolValue"},
			{Rule: "{at: extensions, any_type: [a.B, a.C]}", Wording: "must be one of a.B, a.C"},
		},
		Build: func(a *model.RuleArgs) model.Rule {
			a.Fits(a.Class() == model.Any, "an Any")
			a.Once("any_type")
			return anyType{slice.Map(a.List("any_type"), func(t descriptor.Text) string { return t.Value })}
		},
	}
}

type anyType struct{ types []string }

// Reach implements [model.Rule].
func (anyType) Reach() model.Reach { return model.ReachElement }

// Wording implements [model.Rule].
func (r anyType) Wording() string {
	if len(r.types) == 1 {
		return "must be " + diag.Article(r.types[0])
	}
	return emit.OneOf(r.types)
}

// Broken implements [emit.Condition].
func (r anyType) Broken(f *emit.Func, x *jen.Statement) (broken, shown jen.Code) {
	other := slice.Map(r.types, func(name string) jen.Code { return f.Src("$.MessageName() != $", x, jen.Lit(name)) })
	return f.And(other...), f.Src("string($.MessageName())", x)
}

// Schema implements [schema.Value].
func (r anyType) Schema(model.Path) (valid map[string]any, zero bool) {
	pattern := map[string]any{"pattern": "/(" + strings.Join(slice.Map(r.types, regexp.QuoteMeta), "|") + ")$"}
	return map[string]any{"properties": map[string]any{"@type": pattern}, "required": []string{"@type"}}, true
}
