package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// listField fills a slice from one or more paths.
func (f *Func) listField(d *model.Field, to string) []jen.Code {
	var out []jen.Code
	if hasLength(d.Paths) {
		out = append(out, f.Src("$ = $", to, f.slice(d)))
	}
	var one []jen.Code // values that are always there, to be appended at once
	flush := func() {
		if len(one) > 0 {
			out = append(out, f.Src("$ = append($, $)", to, to, list(one...)))
			one = nil
		}
	}
	for _, p := range d.Paths {
		if !p.Many() && p.Message() == nil && d.Ref == "" {
			_, value := f.value(d, f.Get("m", p), f.Here().Below(p))
			one = append(one, value)
			continue
		}
		flush()
		if v, ok := d.Value.(model.Plain); ok && v.Class.Scalar() && !v.Wrapper && p.ToList() && d.Ref == "" {
			out = append(out, f.appendList(p, to)...)
			continue
		}
		out = append(out, f.Each("m", p, f.Here(), usesPlace(d), func(x jen.Code, at Place) []jen.Code {
			if s, ok := d.Value.(model.StructOf); ok && f.fillsPlace(s.Struct) {
				pre, call := f.decoded(s.Struct.Name, s.Struct.Side, x, at, f.Src("wire.Add(&$)", to))
				return append(pre, call)
			}
			return f.store(d, x, at, func(value *jen.Statement) []jen.Code {
				code := []jen.Code{f.Src("$ = append($, $)", to, to, value)}
				if d.Ref != "" {
					code = append(code, f.ref(d, f.path(at), f.Src("&$[len($)-1]", to, to)))
				}
				return code
			})
		})...)
	}
	flush()
	return out
}

// usesPlace reports whether the code for an element of a field uses its place.
func usesPlace(d *model.Field) bool {
	switch v := d.Value.(type) {
	case model.Plain:
		return d.Ref != "" || v.Class == model.Duration || v.Class == model.Timestamp
	case model.EnumOf:
		return d.Ref != "" || v.Enum.Otherwise == nil
	}
	return true
}

// appendList appends a repeated scalar as it is.
func (f *Func) appendList(p model.Path, to string) []jen.Code {
	add := func(m any, p model.Path) []jen.Code {
		return []jen.Code{f.Src("$ = append($, $...)", to, to, f.Get(m, p))}
	}
	if !p.ManyInside() {
		return add("m", p)
	}
	last := model.Path{From: p.Last().Field.Parent, Steps: p.Steps[len(p.Steps)-1:]}
	return f.Each("m", p.Parent(), f.Here(), false, func(x jen.Code, _ Place) []jen.Code { return add(x, last) })
}

// hasLength reports whether the number of values at paths is known, or a limit of it,
// without going through them.
func hasLength(paths []model.Path) bool {
	for _, p := range paths {
		if _, rest, repeated := p.Split(); repeated && rest.Many() {
			return false
		}
	}
	return true
}

// slice is an empty slice for the values of a list field, with room for all of them.
func (f *Func) slice(d *model.Field) *jen.Statement {
	lists, singles := []jen.Code{}, 0
	for _, p := range d.Paths {
		if head, _, repeated := p.Split(); repeated {
			lists = append(lists, f.Src("len($)", f.Get("m", head)))
		} else {
			singles++
		}
	}
	if singles > 0 {
		lists = append([]jen.Code{jen.Lit(singles)}, lists...)
	}
	n := jen.Custom(jen.Options{Separator: "+"}, lists...)
	switch fn, from := f.arena(d, f.of); {
	case fn == "List":
		return f.Src("wire.List[$, $](dc.Arena(), $)", f.ValueType(d.Value), f.viewType(from), n)
	case fn != "":
		return f.Src("wire."+fn+"[$](dc.Arena(), $)", f.viewType(from), n)
	}
	return f.Src("convert.Slice[$]($)", f.ValueType(d.Value), n)
}

// Each runs body for every value at a path, seen from m at a place. A message
// that is absent is no value. Elements have paths if body uses them.
func (f *Func) Each(m any, p model.Path, at Place, paths bool, body func(x jen.Code, at Place) []jen.Code) []jen.Code {
	head, rest, repeated := p.Split()
	if !repeated {
		if len(p.Steps) == 0 || p.Message() == nil {
			return body(f.Get(m, p), at.Below(p))
		}
		return f.nested(func(_, element string) []jen.Code {
			x := jen.Id(element)
			return []jen.Code{f.If(f.Src("$ := $", x, f.Get(m, p)), f.Src("$ != nil", x), body(x, at.Below(p))...)}
		})
	}
	return f.nested(func(index, element string) []jen.Code {
		item, inner := f.inElement(func(item string) []jen.Code { return f.Each(element, rest, Place{variable: item}, paths, body) })
		if !paths {
			item = ""
		}
		return []jen.Code{f.loop(index, element, m, head, at, item, inner)}
	})
}

// loop writes the loop over a repeated field. It declares the path of an element, item,
// unless that is empty.
func (f *Func) loop(index, element string, m any, list model.Path, at Place, item string, body []jen.Code) jen.Code {
	elements := f.Get(m, list)
	if list.Last().Part != nil {
		return f.mapLoop(f.mapKey(), element, elements, at.Child(list.InViolation()), item, body)
	}
	if f.inPlace(list.Leaf()) {
		elements = f.Src("wire.Each($)", elements)
	}
	if item == "" {
		return f.Src("for _, $ := range $ {\n$\n}", element, elements, body)
	}
	path := f.Src("$.Item($, $)", at.variable, jen.Lit(at.Below(list).field), index)
	return f.Src("for $, $ := range $ {\n$ := $\n$\n}", index, element, elements, item, path, body)
}

// mapField fills a map from one of the message, entry by entry.
func (f *Func) mapField(d *model.Field, to string) []jen.Code {
	p := d.Paths[0]
	entries := f.Get("m", p)
	loop := f.nested(func(_, element string) []jen.Code {
		key := f.mapKey()
		item, body := f.inElement(func(item string) []jen.Code {
			return f.store(d, jen.Id(element), Place{variable: item}, func(value *jen.Statement) []jen.Code {
				return []jen.Code{f.Src("$[$] = $", to, key, value)}
			})
		})
		if !usesPlace(d) {
			item = ""
		}
		return []jen.Code{f.mapLoop(key, element, entries, f.Here().Below(p), item, body)}
	})
	return append([]jen.Code{f.Src("$ = convert.Map[$, $](len($))", to, f.classType(d.Key), f.ValueType(d.Value), entries)}, loop...)
}

// mapKey is a name for the key of an entry, another than that of a type.
func (f *Func) mapKey() string {
	if f.variables["key"] == 0 {
		return "key"
	}
	return f.Variable("key")
}

// mapLoop writes the loop over a map at a place. If entries have a path, item, they come in
// the order of their keys, and so do violations.
func (f *Func) mapLoop(key, element string, entries *jen.Statement, at Place, item string, body []jen.Code) jen.Code {
	if item == "" {
		return f.Src("for $, $ := range $ {\n$\n}", key, element, entries, body)
	}
	name := f.Src("convert.Entry($, $)", jen.Lit(at.field), key)
	return f.Src("for $, $ := range convert.Sorted($) {\n$ := $.Field($)\n$\n}", key, element, entries, item, at.variable, name, body)
}
