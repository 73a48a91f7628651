package rule

import (
	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/emit"
	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// Unset is the rule that there is no value.
func (kinds) Unset() model.RuleKind {
	return model.RuleKind{
		Keys:     one(descriptor.KindTrue, "unset", "There must be no value."),
		Examples: example("{at: part, unset: true}", "must not be set"),
		Build:    func(*model.RuleArgs) model.Rule { return unset{} },
	}
}

type unset struct{}

// Reach implements [model.Rule].
func (unset) Reach() model.Reach { return model.ReachField }

// Wording implements [model.Rule].
func (unset) Wording() string { return "must not be set" }

// Code implements [emit.Coder].
func (unset) Code(f *emit.Func, m string, c *model.Check, conds []jen.Code) []jen.Code {
	var shown jen.Code
	if p, class := c.Path, c.Path.Class(); class.Scalar() && class != model.Bytes && !p.Wrapper() && !p.ToList() {
		shown = f.Get(m, p)
	}
	return presence(f, m, c, conds, true, shown)
}

// Present implements [schema.Presence].
func (unset) Present() bool { return false }
