package rule

import (
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/emit"
	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/schema"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// OneOf is the rule that exactly one of some fields has a value.
func (kinds) OneOf() model.RuleKind {
	return model.RuleKind{
		Keys: one(descriptor.KindPaths, "one_of", "Exactly one of these fields of the message must have a value."),
		Examples: []model.RuleExample{
			{Rule: "{one_of: [text, word]}", Wording: "must have exactly one of text, word set"},
			{Rule: "{at: part, one_of: size}", Wording: "must have size set"},
		},
		Message: true,
		Build: func(a *model.RuleArgs) model.Rule {
			a.Fits(a.Path.Message() != nil && a.Class() == model.Message, "a message")
			members := a.Paths("one_of", func(model.Path) bool { return true }, "")
			a.MarkPresence(members)
			return oneOf{members}
		},
	}
}

type oneOf struct{ members []model.Path }

// Reach implements [model.Rule].
func (oneOf) Reach() model.Reach { return model.ReachMessage }

// Wording implements [model.Rule].
func (r oneOf) Wording() string {
	if len(r.members) == 1 {
		return "must have " + r.members[0].String() + " set"
	}
	return "must have exactly one of " + strings.Join(emit.Texts(r.members), ", ") + " set"
}

// Code checks that one member is set. It counts them unless at most one can be set, as in a
// oneof of protobuf.
func (r oneOf) Code(f *emit.Func, c *model.Check, conds []jen.Code) []jen.Code {
	x, init := "m", jen.Code(nil)
	if len(c.Path.Steps) > 0 {
		x, init = "x", f.Src("x := $", f.Get("m", c.Path))
		conds = f.CondsAt("m", c.When, x, c.Path)
	}
	present := func(is bool) []jen.Code {
		return slice.Map(r.members, func(p model.Path) jen.Code { return f.Presence(x, p, is) })
	}
	broken := f.And(present(false)...)
	if !r.exclusive() {
		broken = f.Src("convert.Count($) != 1", jen.List(present(true)...))
	}
	stated := slices.ContainsFunc(c.When.Tests, func(t model.Test) bool {
		return t.Kind == model.Present && t.Path.String() == c.Path.String()
	})
	if init != nil && !stated && slices.ContainsFunc(r.members, f.ReadsStruct) {
		broken = f.Or(f.Src("$ == nil", x), broken)
	}
	return []jen.Code{f.If(init, f.And(append(conds, broken)...), f.Violation(f.Here().Below(c.Path), nil, emit.RuleText(c)))}
}

// exclusive reports whether at most one member can be set.
func (r oneOf) exclusive() bool {
	first := r.members[0]
	return len(r.members) == 1 || !slices.ContainsFunc(r.members, func(p model.Path) bool {
		return p.Leaf().Oneof == nil || p.Leaf().Oneof != first.Leaf().Oneof || p.Parent().String() != first.Parent().String()
	})
}

// Members implements [schema.Choice].
func (r oneOf) Members() []model.Path { return r.members }

// MessageSchema implements [schema.Message].
func (r oneOf) MessageSchema() map[string]any {
	members := make([]any, len(r.members))
	for i, p := range r.members {
		s, ok := schema.Present(p)
		if !ok {
			return nil
		}
		members[i] = s
	}
	return map[string]any{"oneOf": members}
}
