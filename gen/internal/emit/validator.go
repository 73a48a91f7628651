package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// A Condition is a rule that a value breaks by a condition. Rules of other shapes are a
// [Coder], and a [GoCoder] if they may be about Go fields.
type Condition interface {
	// Broken is the condition that x breaks the rule, and the value that the violation
	// shows, if any. It is joined to others by &&: one with || has parentheses.
	Broken(f *Func, x *jen.Statement) (broken, shown jen.Code)
}

// A Coder writes all code of a check of the message m.
type Coder interface {
	Code(f *Func, c *model.Check, conds []jen.Code) []jen.Code
}

// A GoCoder writes all code of a check of the update u.
type GoCoder interface {
	GoCode(f *Func, c *model.Check) []jen.Code
}

// validator writes the functions that check rules.
func (e *emitter) validator() []jen.Code {
	var out []jen.Code
	for _, s := range e.pkg.All() {
		out = append(out, slice.Map(s.Rules.All(), e.scope)...)
	}
	if len(e.pkg.GoChecks) > 0 {
		out = append(out, e.goChecks())
	}
	for i, p := range e.patterns {
		out = append(out, e.Src("var $ = regexp.MustCompile($)", e.patternName(i), jen.Lit(p)))
	}
	return out
}

// Pattern is the variable of a compiled regular expression.
func (e *emitter) Pattern(p string) string {
	i := slices.Index(e.patterns, p)
	if i < 0 {
		i, e.patterns = len(e.patterns), append(e.patterns, p)
	}
	return e.patternName(i)
}

func (e *emitter) patternName(i int) string { return e.named(fmt.Sprint("rulePattern", i+1)) }

// scope writes the function that checks one message.
func (e *emitter) scope(s *model.Scope) jen.Code {
	f := e.fn(s.Message)
	body := f.checks(s.Checks)
	for _, u := range s.Under {
		loop := f.Each(u.Path, true, func(x *jen.Statement, at Place) []jen.Code {
			return f.validate(u.Scope, at, x)
		})
		body = append(body, f.When(f.conds("m", u.When), loop)...)
	}
	return f.validates(s.Func, "checks the rules about one "+model.Short(s.Message)+".", "m", e.view(s.Message), body)
}

// validate calls the function that checks x, which is at the place.
func (f *Func) validate(s *model.Scope, at Place, x jen.Code) []jen.Code {
	pre, p := f.pointer(at)
	return append(pre, f.Src("$(dc, $, $, v)", f.named(s.Func), p, x))
}

// checks writes checks of the message m. Those in an inner message that may be absent are in one statement, in
// which m is that message.
func (f *Func) checks(checks []*model.Check) []jen.Code {
	var out []jen.Code
	for len(checks) > 0 {
		at := guard(checks[0])
		if len(at.Steps) == 0 {
			out, checks = append(out, f.check(checks[0])...), checks[1:]
			continue
		}
		inner := *f
		inner.base = slices.Concat(f.base, at.Steps)
		var within []*model.Check
		for len(checks) > 0 {
			if _, ok := guard(checks[0]).Behind(at); !ok {
				break
			}
			within, checks = append(within, inGuard(*checks[0], at)), checks[1:]
		}
		out = append(out, f.If(f.Src("m := $", f.Get("m", at)), f.Src("m != nil"), inner.checks(within)...))
	}
	return out
}

// guard is the path of the innermost message that has the values of a check and of its condition, if the check
// applies only if there is that message.
func guard(c *model.Check) model.Path {
	if len(c.Path.Steps) == 0 {
		return c.Path
	}
	at, leaf := c.Path.Parent(), c.Path.Leaf()
	_, condition := c.Rule.(Condition)
	there := condition && !c.Elements && leaf != nil && leaf.Message == nil && leaf.Desc.HasPresence()
	for _, t := range c.When.Tests {
		within := func() bool {
			rest, ok := t.Path.Behind(at)
			return ok && (len(rest.Steps) > 0 || t.Kind == model.Present)
		}
		for len(at.Steps) > 0 && !within() {
			at = at.Parent()
		}
		there = there || t.Kind == model.Present || t.Kind == model.Equals && !t.Value.Zero()
	}
	if !there || at.Many() {
		return model.Path{}
	}
	return at
}

// inGuard is a check as seen from the message at a path, which is there.
func inGuard(c model.Check, at model.Path) *model.Check {
	tests := c.When.Tests
	c.When.Tests = nil
	for _, t := range tests {
		if t.Path, _ = t.Path.Behind(at); len(t.Path.Steps) > 0 {
			c.When.Tests = append(c.When.Tests, t)
		}
	}
	c.Path, _ = c.Path.Behind(at)
	return &c
}

// check writes one check of the message m.
func (f *Func) check(c *model.Check) []jen.Code {
	conds := f.conds("m", c.When)
	switch r := c.Rule.(type) {
	case Coder:
		return r.Code(f, c, conds)
	case Condition:
		return f.condition(r, c, conds)
	}
	return f.When(conds, f.callCheck(c))
}

// condition writes a check by a condition.
func (f *Func) condition(r Condition, c *model.Check, conds []jen.Code) []jen.Code {
	p, text := c.Path, RuleText(c)
	switch {
	case !c.Elements:
		init, guard, x := f.operand(p)
		broken, shown := r.Broken(f, x)
		if !p.ToList() {
			broken, shown = f.broken(r, x, p)
		}
		return []jen.Code{f.If(init, f.And(append(conds, guard, broken)...), f.Violation(f.Here().Below(p), shown, text))}
	case p.Last().Part != nil:
		return f.When(conds, f.entries(r, p, text))
	}
	return f.When(conds, f.Each(p, true, func(x *jen.Statement, at Place) []jen.Code {
		broken, shown := f.broken(r, x, p)
		return []jen.Code{f.If(nil, broken, f.Violation(at, shown, text))}
	}))
}

// broken is the condition that x, a value at a path, breaks a rule, and the value that the violation shows. A Duration beyond
// the limits of its type breaks it too, unless a field or hook reads the Duration: they report that themselves.
func (f *Func) broken(r Condition, x jen.Code, p model.Path) (broken, shown jen.Code) {
	broken, shown = r.Broken(f, f.Scalar(x, p))
	path := model.Path{Steps: slices.Concat(f.base, p.Steps)}.String()
	read := func(s *model.Struct) bool { return s.Message == f.of && reads(s, path) }
	if p.Class() == model.Duration && !slices.ContainsFunc(f.pkg.All(), read) {
		broken = f.Or(f.Src("!$.IsValid()", x), broken)
	}
	return broken, shown
}

// reads reports whether a field of a struct, or of a struct in it, always reads the value at a path, perhaps by a hook.
func reads(s *model.Struct, path string) bool {
	return slices.ContainsFunc(s.Fields, func(d *model.Field) bool {
		v, inner := d.Value.(model.StructOf)
		inner = inner && v.Any == nil && v.Struct.Keep == nil && v.Struct.Stop == nil
		paths := d.Paths
		if h, ok := d.Value.(model.HookOf); ok {
			paths = slices.Concat(paths, slice.Map(h.Hook.Needs, func(n model.Need) model.Path { return n.Path }))
		}
		return d.When.Empty() && (inner && len(paths) == 0 && reads(v.Struct, path) || slices.ContainsFunc(paths, func(o model.Path) bool {
			rest, below := strings.CutPrefix(path, o.String()+".")
			return o.String() == path || inner && below && reads(v.Struct, rest)
		}))
	})
}

// entries writes a check of the keys or values of a map. The path of an entry is only built for a
// violation.
func (f *Func) entries(r Condition, p model.Path, text string) []jen.Code {
	return f.nested(func(x *jen.Statement) []jen.Code {
		key := f.mapKey()
		entry := f.Src("$, $", key, x)
		if p.Last().Key() {
			entry, x = jen.Id(key), jen.Id(key)
		}
		broken, shown := r.Broken(f, f.Scalar(x, p))
		if shown == nil || p.Last().Key() {
			shown = jen.Nil() // the path has the key
		}
		path := f.Src("$.Field(convert.Entry($, $))", f.Here().variable, jen.Lit(f.Here().Child(p.InViolation()).field), key)
		return []jen.Code{f.Src("for $ := range convert.Sorted($) {\n$\n}", entry, f.Get("m", p),
			f.If(nil, broken, f.Src("v.Add($, $, $)", path, shown, jen.Lit(text))))}
	})
}

// operand declares x, the value at a path. guard is the condition that there is a value,
// where that is not certain.
func (f *Func) operand(p model.Path) (init, guard jen.Code, x *jen.Statement) {
	init, guard, x = f.Src("x := $", f.Get("m", p)), jen.Null(), jen.Id("x")
	leaf := p.Leaf()
	switch {
	case !p.Presence():
	case p.Message() != nil:
		guard = f.Src("x != nil")
	case f.has(p) == "" && member(leaf) != nil:
		init = f.Src("x, ok := $.$().(*$)", f.Get("m", p.Parent()), oneofGetter(leaf.Oneof), f.ident(leaf.GoIdent))
		guard, x = jen.Id("ok"), jen.Op("x."+leaf.GoName)
	default:
		guard = f.Presence("m", p, true)
	}
	return init, guard, x
}

// Messages runs a statement with the place and the whole message for each message at a path.
func (f *Func) Messages(p model.Path, statement string) []jen.Code {
	return f.Each(p, true, func(x *jen.Statement, at Place) []jen.Code {
		return []jen.Code{f.Src(statement, f.path(at), f.askedMessage(x, p.Message()))}
	})
}

// callCheck calls a validate hook, unless there is no message for it.
func (f *Func) callCheck(c *model.Check) []jen.Code {
	return f.Each(c.Path, true, func(x *jen.Statement, at Place) []jen.Code {
		args := f.hookArgs(c.Hook, x, c.Path.Message(), "")
		if len(c.Hook.Needs)+len(c.Path.Steps) == 0 && f.views != nil && f.of == f.pkg.Message && slices.Contains(f.pkg.Late, c.When.Profile) {
			args = f.Src("$.message", x)
		}
		return []jen.Code{f.Src("$(dc, $, $, v)", c.Hook.Func, f.path(at), args)}
	})
}
