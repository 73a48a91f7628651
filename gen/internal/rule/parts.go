package rule

import (
	"regexp"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/emit"
	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// parts is a rule that a text has one of some parts, or none of them.
type parts struct {
	wording string                   // before the parts
	found   string                   // the condition that a text has a part
	pattern func(text string) string // of texts with a part, which is a regular expression
	not     bool                     // the text has none
	values  []model.Literal
}

// kind is the kind of the rule under a key, with a rule and its wording as the example.
func (r parts) kind(key, doc, rule, wording string) model.RuleKind {
	return model.RuleKind{
		Keys:     one(descriptor.KindLiterals, key, doc+" Of a list, each element is checked."),
		Examples: example(rule, wording),
		GoFields: true,
		Build: func(a *model.RuleArgs) model.Rule {
			a.Fits(a.Class() == model.String, "a string")
			r.values = a.Literals(key)
			return r
		},
	}
}

// Reach implements [model.Rule].
func (parts) Reach() model.Reach { return model.ReachElement }

// Wording implements [model.Rule].
func (r parts) Wording() string { return r.wording + strings.Join(texts(r.values), " or ") }

// Broken implements [emit.Condition].
func (r parts) Broken(f *emit.Func, x *jen.Statement) (broken, shown jen.Code) {
	not := map[bool]string{false: "!"}[r.not]
	conds := slice.Map(r.values, func(l model.Literal) jen.Code { return f.Src(not+r.found, x, f.Literal(l)) })
	if r.not {
		return f.Or(conds...), x
	}
	return f.And(conds...), x
}

// Schema implements [schema.Value].
func (r parts) Schema(model.Path) (valid map[string]any, zero bool) {
	all := slice.Map(r.values, func(l model.Literal) string { return r.pattern(regexp.QuoteMeta(l.Value.(string))) })
	valid, zero = pattern(strings.Join(all, "|"))
	if r.not {
		return map[string]any{"not": valid}, !zero
	}
	return valid, zero
}
