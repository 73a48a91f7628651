package rule

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
	"github.com/xdsforge/xdsforge/gen/internal/emit"
	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// Matches is the rule that a text matches a regular expression.
func (kinds) Matches() model.RuleKind {
	return model.RuleKind{
		Keys:     one(descriptor.KindText, "matches", "The text must match this regular expression of Go (RE2). ^ and $ anchor it. Of a list, each element is checked."),
		Examples: example("{at: text, matches: '^[a-z]+$'}", "must match \"^[a-z]+$\""),
		GoFields: true,
		Build: func(a *model.RuleArgs) model.Rule {
			a.Fits(a.Class() == model.String, "a string")
			at := a.Arg("matches")
			_, err := regexp.Compile(at.Value)
			a.Require(err == nil, at, diag.BadValue, "matches = %q; must be a regular expression: %v", at.Value, err)
			return matches{at.Value}
		},
	}
}

type matches struct{ pattern string }

// Reach implements [model.Rule].
func (matches) Reach() model.Reach { return model.ReachElement }

// Wording implements [model.Rule].
func (r matches) Wording() string { return "must match " + strconv.Quote(r.pattern) }

// Broken implements [emit.Condition].
func (r matches) Broken(f *emit.Func, x *jen.Statement) (broken, shown jen.Code) {
	return f.Src("!$.MatchString($)", f.Pattern(r.pattern), x), x
}

// Schema implements [schema.Value]. Flags are not part of the regular expressions of JSON Schema.
func (r matches) Schema(model.Path) (valid map[string]any, zero bool) {
	if strings.Contains(strings.ReplaceAll(r.pattern, "(?:", ""), "(?") {
		return nil, false
	}
	return pattern(r.pattern)
}
