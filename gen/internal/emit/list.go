package emit

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// listField fills a slice from one or more paths.
func (f *fn) listField(d *model.Field, to func() *jen.Statement) []jen.Code {
	var out []jen.Code
	if n := f.length(d.Paths); n != nil {
		out = append(out, to().Op("=").Add(f.slice(d, n)))
	}
	var one []jen.Code // values that are always there, to be appended at once
	flush := func() {
		if len(one) > 0 {
			out = append(out, to().Op("=").Append(append([]jen.Code{to()}, one...)...))
			one = nil
		}
	}
	for _, p := range d.Paths {
		if !p.Many() && p.Message() == nil && d.Ref == "" {
			_, value := f.value(d, f.get(jen.Id("m"), p), f.here().below(p))
			one = append(one, value)
			continue
		}
		flush()
		if v, ok := d.Value.(model.Plain); ok && v.Class.Scalar() && !v.Wrapper && p.ToList() && d.Ref == "" {
			out = append(out, f.appendList(p, to)...)
			continue
		}
		out = append(out, f.each(jen.Id("m"), p, f.here(), func(x jen.Code, at place) []jen.Code {
			if code, ok := f.fillInPlace(d, x, at, to); ok {
				return code
			}
			return f.store(d, x, at, func(value *jen.Statement) []jen.Code {
				code := []jen.Code{to().Op("=").Append(to(), value)}
				if d.Ref != "" {
					code = append(code, f.ref(d, at, jen.Op("&").Add(to()).Index(jen.Len(to()).Op("-").Lit(1))))
				}
				return code
			})
		})...)
	}
	flush()
	return out
}

// fillInPlace adds an element to a list of structs and fills it there, where their
// function takes its place.
func (f *fn) fillInPlace(d *model.Field, x jen.Code, at place, to func() *jen.Statement) ([]jen.Code, bool) {
	s, ok := d.Value.(model.StructOf)
	if !ok || !f.uses["decode"+s.Struct.Name].place {
		return nil, false
	}
	pre, args := f.arguments("decode"+s.Struct.Name, at, x)
	element := f.qual(wirePkg, "Add").Call(jen.Op("&").Add(to()))
	return append(pre, jen.Id("decode"+s.Struct.Name).Call(append([]jen.Code{element}, args...)...)), true
}

// onlyInLists reports whether structs of a type are made of views, and are elements of
// lists and nothing else, all of which are kept.
func (e *emitter) onlyInLists(s *model.Struct) bool {
	if e.views == nil || s.Keep != nil {
		return false
	}
	for _, in := range slices.Concat([]*model.Struct{e.pkg.Update}, e.pkg.Structs) {
		for _, d := range in.Fields {
			if v, ok := d.Value.(model.StructOf); ok && v.Struct == s && (!d.List || d.Optional || d.Ref != "" || v.Any != nil) {
				return false
			}
		}
		for _, o := range in.Oneofs() {
			if slices.ContainsFunc(o.Cases, func(c *model.Case) bool { return c.Struct == s }) {
				return false
			}
		}
	}
	return true
}

// appendList appends a repeated scalar as it is.
func (f *fn) appendList(p model.Path, to func() *jen.Statement) []jen.Code {
	add := func(m jen.Code, p model.Path) []jen.Code {
		return []jen.Code{to().Op("=").Append(to(), f.get(m, p).Op("..."))}
	}
	if !p.ManyInside() {
		return add(jen.Id("m"), p)
	}
	last := model.Path{From: p.Last().Field.Parent, Steps: p.Steps[len(p.Steps)-1:]}
	return f.each(jen.Id("m"), p.Parent(), f.here(), func(x jen.Code, _ place) []jen.Code { return add(x, last) })
}

// length is how many values there are at paths at most, where that can be told
// without going through them.
func (f *fn) length(paths []model.Path) *jen.Statement {
	out, lists, singles := jen.Null(), 0, 0
	for _, p := range paths {
		head, rest, repeated := p.Split()
		switch {
		case rest.Many() && repeated:
			return nil
		case repeated:
			if lists > 0 {
				out.Op("+")
			}
			lists++
			out.Len(f.get(jen.Id("m"), head))
		default:
			singles++
		}
	}
	switch {
	case singles == 0:
		return out
	case singles == len(paths):
		return jen.Lit(singles)
	}
	return jen.Lit(singles).Op("+").Add(out)
}

// each runs body for every value at a path, seen from m at a place. A message
// that is absent is no value.
func (f *fn) each(m jen.Code, p model.Path, at place, body func(x jen.Code, at place) []jen.Code) []jen.Code {
	head, rest, repeated := p.Split()
	if !repeated {
		if len(p.Steps) == 0 || p.Message() == nil {
			return body(f.get(m, p), at.below(p))
		}
		return f.nested(func(l locals) []jen.Code {
			x := jen.Id(l.element)
			return []jen.Code{jen.If(jen.Add(x).Op(":=").Add(f.get(m, p)), jen.Add(x).Op("!=").Nil()).Block(body(x, at.below(p))...)}
		})
	}
	return f.nested(func(l locals) []jen.Code {
		item := &pathVar{name: f.pathName()}
		f.paths++
		inner := f.each(jen.Id(l.element), rest, place{v: item}, body)
		f.paths--
		return []jen.Code{f.loop(l, m, head, at, item, inner)}
	})
}

// loop writes the loop over a repeated field. The path of an element, item, is
// declared where the body uses it.
func (f *fn) loop(l locals, m jen.Code, list model.Path, at place, item *pathVar, body []jen.Code) jen.Code {
	index := "_"
	if item.used {
		index = l.index
		here := at.below(list)
		here.v.used = true
		decl := jen.Id(item.name).Op(":=").Id(here.v.name).Dot("Item").Call(jen.Lit(here.field), jen.Id(index))
		body = append([]jen.Code{decl}, body...)
	}
	return jen.For(jen.List(jen.Id(index), jen.Id(l.element)).Op(":=").Range().Add(f.elements(f.get(m, list), list))).Block(body...)
}
