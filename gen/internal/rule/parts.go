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
	alternatives
	wording string                   // before the parts
	found   string                   // the condition that a text has a part
	pattern func(text string) string // of texts with a part, which is a regular expression
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

// Wording implements [model.Rule].
func (r parts) Wording() string { return r.wording + strings.Join(r.texts(), " or ") }

// Broken implements [emit.Condition].
func (r parts) Broken(f *emit.Func, x *jen.Statement) (broken, shown jen.Code) {
	not := map[bool]string{false: "!"}[r.not]
	return r.broken(f, x, func(l model.Literal) jen.Code { return f.Src(not+r.found, x, f.Literal(l)) })
}

// Schema implements [schema.Value].
func (r parts) Schema(model.Path) (valid map[string]any, zero bool) {
	all := slice.Map(r.values, func(l model.Literal) string { return r.pattern(regexp.QuoteMeta(l.Value.(string))) })
	return r.schema(pattern(strings.Join(all, "|")))
}
