package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// listField fills a slice from one or more paths.
func (f *Func) listField(d *model.Field, to string) []jen.Code {
	var out []jen.Code
	if empty := f.slice(d); empty != nil {
		out = append(out, f.Src("$ = $", to, empty))
	}
	var one []jen.Code // values that are always there, to be appended at once
	flush := func() {
		if len(one) > 0 {
			out = append(out, f.Src("$ = append($, $)", to, to, jen.List(one...)))
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
		out = append(out, f.Each(p, usesPlace(d), func(x *jen.Statement, at Place) []jen.Code {
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
	last, _ := p.Behind(p.Parent())
	return f.Each(p.Parent(), false, func(x *jen.Statement, _ Place) []jen.Code { return add(x, last) })
}

// slice is an empty slice for the values of a list field, with room for all of them or for a limit of their number. It is nil
// if that is only known after going through them. A wire decoder allocates lists of values that it makes of views, and of their
// texts, in the arena of the response.
func (f *Func) slice(d *model.Field) jen.Code {
	lists, singles := []jen.Code{}, 0
	for _, p := range d.Paths {
		switch head, rest, repeated := p.Split(); {
		case rest.Many():
			return nil
		case repeated:
			lists = append(lists, f.Src("len($)", f.Get("m", head)))
		default:
			singles++
		}
	}
	if singles > 0 {
		lists = append([]jen.Code{jen.Lit(singles)}, lists...)
	}
	n := jen.Custom(jen.Options{Separator: "+"}, lists...)
	from, typ := d.Paths[0].Leaf(), f.ValueType(d.Value)
	v, isStruct := d.Value.(model.StructOf)
	c, converted := d.Value.(model.Converted)
	switch {
	case converted && c.Conversion.Func == "HostPort" && f.viewed(f.of):
		return f.Src("wire.Strings[$](dc.Arena(), $)", f.viewType(f.of), n)
	case (isStruct && v.Any == nil || len(c.Conversion.Inputs) > 0) && f.inPlace(from):
		return f.Src("wire.List[$, $](dc.Arena(), $)", typ, f.viewType(from.Message), n)
	}
	return f.Src("convert.Slice[$]($)", typ, n)
}

// Each runs body for every value at a path of the message m. A message that is absent is no value. Elements have paths if
// body uses them.
func (f *Func) Each(p model.Path, paths bool, body Body) []jen.Code {
	return f.each("m", p, f.Here(), paths, body)
}

// each is [Func.Each] from m, which is at a place.
func (f *Func) each(m any, p model.Path, at Place, paths bool, body Body) []jen.Code {
	head, rest, repeated := p.Split()
	switch {
	case repeated:
		l := loop{over: f.Get(m, head), at: at.Child(head.InViolation()), isMap: head.Last().Part != nil, paths: paths}
		if !l.isMap && f.inPlace(head.Leaf()) {
			l.over = f.Src("wire.Each($)", l.over)
		}
		return f.loop(l, func(_ string, x *jen.Statement, at Place) []jen.Code { return f.each(x, rest, at, paths, body) })
	case len(p.Steps) == 0 || p.Message() == nil:
		return body(f.Get(m, p), at.Below(p))
	}
	return f.with("$ := $", f.Get(m, p), "$ != nil", func(x *jen.Statement) []jen.Code { return body(x, at.Below(p)) })
}

// A loop is a loop over a slice or map.
type loop struct {
	over      *jen.Statement
	at        Place // of the slice or map
	isMap     bool
	paths     bool // elements have paths; those of a map come in the order of their keys, and so do violations
	addressed bool // elements are not copied
}

// loop writes a loop, with body for an element, its key or index, and its place.
func (f *Func) loop(l loop, body func(key string, x *jen.Statement, at Place) []jen.Code) []jen.Code {
	key, item, over := local(f.values, "i", "j", "k"), f.pathName(), l.over
	if l.isMap {
		key = f.mapKey()
	}
	return f.nested(func(x *jen.Statement) []jen.Code {
		f.paths++
		code := body(key, x, Place{variable: item})
		f.paths--
		variables, path := f.Src("$, $", key, x), f.Src("$ := $.Item($, $)", item, l.at.variable, jen.Lit(l.at.field), key)
		switch {
		case l.isMap && l.paths:
			path = f.Src("$ := $.Field(convert.Entry($, $))", item, l.at.variable, jen.Lit(l.at.field), key)
			over, code = f.Src("convert.Sorted($)", over), append([]jen.Code{path}, code...)
		case l.addressed:
			variables, code = jen.Id(key), append([]jen.Code{f.Src("$ := &$[$]", x, over, key), path}, code...)
		case l.paths:
			code = append([]jen.Code{path}, code...)
		case !l.isMap:
			variables = f.Src("_, $", x)
		}
		return []jen.Code{f.Src("for $ := range $ {\n$\n}", variables, over, code)}
	})
}

// mapField fills a map from one of the message, entry by entry.
func (f *Func) mapField(d *model.Field, to string) []jen.Code {
	entries := f.Get("m", d.Paths[0])
	l := loop{over: entries, at: f.Here().Below(d.Paths[0]), isMap: true, paths: usesPlace(d)}
	body := f.loop(l, func(key string, x *jen.Statement, at Place) []jen.Code {
		return f.store(d, x, at, func(value *jen.Statement) []jen.Code { return []jen.Code{f.Src("$[$] = $", to, key, value)} })
	})
	return append([]jen.Code{f.Src("$ = convert.Map[$, $](len($))", to, f.classType(d.Key), f.ValueType(d.Value), entries)}, body...)
}

// mapKey is a name for the key of an entry, another than that of a type.
func (f *Func) mapKey() string {
	if f.variables["key"] == 0 {
		return "key"
	}
	return f.Variable("key")
}
