package rule

import (
	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/emit"
	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// Annotated is the rule that a message fulfils its own annotations.
func (kinds) Annotated() model.RuleKind {
	return model.RuleKind{
		Keys:     one(descriptor.KindTrue, "annotated", "The message and those in it, to any depth, must fulfil the options of protoc-gen-validate in their proto files. Of a list or map, each element is checked."),
		Examples: example("{at: part, annotated: true}", "must fulfil its annotations"),
		Build: func(a *model.RuleArgs) model.Rule {
			a.Fits(a.Class() == model.Message && a.Path.Message() != nil && len(a.Path.Steps) > 0, "a message")
			a.MarkWhole()
			return annotated{}
		},
	}
}

type annotated struct{}

// Reach implements [model.Rule].
func (annotated) Reach() model.Reach { return model.ReachMessage }

// Wording implements [model.Rule]. Violations have the wordings of the options.
func (annotated) Wording() string { return "must fulfil its annotations" }

// Code implements [emit.Coder].
func (annotated) Code(f *emit.Func, c *model.Check, conds []jen.Code) []jen.Code {
	return f.When(conds, f.Messages(c.Path, "v.AddMessage($, $)"))
}

// Opaque implements [schema.Opaque].
func (annotated) Opaque() {}
