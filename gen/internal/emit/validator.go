package emit

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// validator writes the functions that check rules.
func (e *emitter) validator() []jen.Code {
	var out []jen.Code
	for _, s := range slices.Concat([]*model.Struct{e.pkg.Update}, e.pkg.Structs) {
		if s.Rules != nil {
			out = append(out, e.scope(s.Rules, s == e.pkg.Update)...)
		}
	}
	if len(e.pkg.GoChecks) > 0 {
		out = append(out, e.goChecks())
	}
	return out
}

// scope writes the function that checks one message, and those for the messages
// in its repeated fields.
func (e *emitter) scope(s *model.Scope, root bool) []jen.Code {
	f := e.fn(s.Func, root)
	m := jen.Id("m")
	var body []jen.Code
	for _, c := range s.Checks {
		body = append(body, f.check(m, c)...)
	}
	for _, u := range s.Under {
		loop := f.each(m, u.Path, f.here(), func(x jen.Code, at place) []jen.Code {
			pre, call := f.call(u.Scope.Func, at, x)
			return append(pre, call)
		})
		body = append(body, when(f.conds(m, u.When), loop)...)
	}
	body = f.prelude(body)
	params := f.params(f.done(), "m", e.view(s.Message))
	doc := s.Func + " checks the rules about one " + model.Short(s.Message) + "."
	function := jen.Add(comment(doc)).Line().Func().Id(s.Func).Params(params...).Block(body...)
	inner := make([][]jen.Code, len(s.Under))
	for i, u := range s.Under {
		inner[i] = e.scope(u.Scope, false)
	}
	return append([]jen.Code{function}, slices.Concat(inner...)...)
}

// check writes one check of the message m.
func (f *fn) check(m jen.Code, c *model.Check) []jen.Code {
	at := f.here().below(c.Path)
	conds := f.conds(m, c.When)
	switch c.Kind {
	case model.Required, model.Unset:
		return f.presenceCheck(m, c, at, conds)
	case model.OneOf:
		return f.oneOfCheck(m, c, at, conds)
	case model.Unique:
		return when(conds, f.uniqueCheck(m, c))
	case model.Sum:
		return when(conds, f.sumCheck(m, c, at))
	case model.Call:
		return when(conds, f.callCheck(m, c))
	default:
		return f.valueCheck(m, c, at, conds)
	}
}

// valueCheck writes Compare, Range, Length and AnyType.
func (f *fn) valueCheck(m jen.Code, c *model.Check, at place, conds []jen.Code) []jen.Code {
	if c.Elements {
		loop := f.nested(func(l locals) []jen.Code {
			item := &pathVar{name: f.pathName()}
			element := model.Path{Steps: c.Path.Steps[len(c.Path.Steps)-1:]}
			inner := f.compare(jen.Id(l.element), nil, element, c, place{v: item}, nil)
			return []jen.Code{f.loop(l, m, c.Path, f.here(), item, inner)}
		})
		return when(conds, loop)
	}
	o := f.operand(m, c.Path)
	return f.compare(o.value, o.init, c.Path, c, at, append(conds, o.guard...))
}

// An operand is a value that a check looks at.
type operand struct {
	init  jen.Code   // declares what the value uses
	guard []jen.Code // that the value is there, where that is not sure
	value jen.Code
}

func (f *fn) operand(m jen.Code, p model.Path) operand {
	x := jen.Id("x")
	o := operand{init: jen.Add(x).Op(":=").Add(f.get(m, p)), value: x}
	leaf := p.Leaf()
	switch {
	case !p.Presence() || p.ToList() || p.Class() == model.Map:
	case p.Message() != nil:
		o.guard = []jen.Code{jen.Add(x).Op("!=").Nil()}
	case f.hasField(leaf) == "" && leaf.Oneof != nil && !leaf.Oneof.Desc.IsSynthetic():
		member := f.get(m, p.Parent()).Dot(oneofGetter(leaf.Oneof)).Call().Assert(jen.Op("*").Add(f.ident(leaf.GoIdent)))
		return operand{
			init:  jen.List(x, jen.Id("ok")).Op(":=").Add(member),
			guard: []jen.Code{jen.Id("ok")},
			value: jen.Add(x).Dot(leaf.GoName),
		}
	default:
		o.guard = []jen.Code{f.presence(m, p, true)}
	}
	return o
}

// compare writes a check of the value x: one of Compare, Range, Length and
// AnyType.
func (f *fn) compare(x, init jen.Code, p model.Path, c *model.Check, at place, conds []jen.Code) []jen.Code {
	value := f.scalar(x, p)
	if c.Kind == model.Length && p.ToList() {
		value = jen.Add(x)
	}
	shown := jen.Code(value)
	var broken []jen.Code
	switch c.Kind {
	case model.AnyType:
		shown = jen.String().Call(jen.Add(x).Dot("MessageName").Call())
		for _, t := range c.Types {
			broken = append(broken, jen.Add(x).Dot("MessageName").Call().Op("!=").Lit(t))
		}
	case model.Compare:
		broken = []jen.Code{comparisons()[c.Compare].broken(f.emitter, value, c.Values)}
	case model.Range:
		broken = []jen.Code{f.outside(value, c.Min, c.Max, len(conds) > 0)}
	case model.Length:
		text := !p.ToList() && p.Class() == model.String
		if !text {
			shown = nil
		}
		broken = []jen.Code{f.lengthOutside(value, text, c.MinLen, c.MaxLen, len(conds) > 0)}
	default:
	}
	body := f.violation(at, shown, rule(c))
	if init == nil {
		return []jen.Code{jen.If(and(append(conds, broken...)...)).Block(body)}
	}
	return []jen.Code{jen.If(init, and(append(conds, broken...)...)).Block(body)}
}

// outside is the condition that a value is below one bound or above another.
func (e *emitter) outside(value jen.Code, lo, hi *model.Literal, more bool) *jen.Statement {
	switch {
	case hi == nil:
		return jen.Add(value).Op("<").Add(e.literal(*lo))
	case lo == nil:
		return jen.Add(value).Op(">").Add(e.literal(*hi))
	}
	out := jen.Add(value).Op("<").Add(e.literal(*lo)).Op("||").Add(value).Op(">").Add(e.literal(*hi))
	if more {
		return jen.Parens(out)
	}
	return out
}

// lengthOutside is [emitter.outside] for the length of a value.
func (e *emitter) lengthOutside(value jen.Code, text bool, lo, hi int, more bool) *jen.Statement {
	n := jen.Len(value)
	switch {
	case hi < 0 && lo == 1 && text:
		return jen.Add(value).Op("==").Lit("")
	case hi == 0 && text:
		return jen.Add(value).Op("!=").Lit("")
	case hi < 0 && lo == 1:
		return jen.Add(n).Op("==").Lit(0)
	case hi < 0:
		return jen.Add(n).Op("<").Lit(lo)
	case lo == 0:
		return jen.Add(n).Op(">").Lit(hi)
	case lo == hi:
		return jen.Add(n).Op("!=").Lit(lo)
	}
	out := jen.Add(n).Op("<").Lit(lo).Op("||").Add(n).Op(">").Lit(hi)
	if more {
		return jen.Parens(out)
	}
	return out
}
