package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// mapField fills a map from one of the message, entry by entry.
func (f *fn) mapField(d *model.Field, to func() *jen.Statement) []jen.Code {
	p := d.Paths[0]
	entries := func() *jen.Statement { return f.get(jen.Id("m"), p) }
	empty := f.convert("Map").Types(f.classType(d.Key), f.valueType(d.Value)).Call(jen.Len(entries()))
	loop := f.nested(func(l locals) []jen.Code {
		key, item := f.mapKey(), &pathVar{name: f.pathName()}
		f.paths++
		body := f.store(d, jen.Id(l.element), place{v: item}, func(value *jen.Statement) []jen.Code {
			return []jen.Code{to().Index(jen.Id(key)).Op("=").Add(value)}
		})
		f.paths--
		return []jen.Code{f.mapLoop(key, l.element, entries(), f.here().below(p), item, body)}
	})
	return append([]jen.Code{to().Op("=").Add(empty)}, loop...)
}

// mapKey is a name for the key of an entry, another than that of a type.
func (f *fn) mapKey() string {
	if f.variables["key"] == 0 {
		return "key"
	}
	return f.variable("key")
}

// mapLoop writes the loop over a map that stands at a place. Where the body uses
// the path of an entry, item, that is declared, and entries come in the order of
// their keys, so that violations do.
func (f *fn) mapLoop(key, element string, entries *jen.Statement, at place, item *pathVar, body []jen.Code) jen.Code {
	if item.used {
		at.v.used = true
		name := f.convert("Entry").Call(jen.Lit(at.field), jen.Id(key))
		decl := jen.Id(item.name).Op(":=").Id(at.v.name).Dot("Field").Call(name)
		body = append([]jen.Code{decl}, body...)
		entries = f.convert("Sorted").Call(entries)
	}
	return jen.For(jen.List(jen.Id(key), jen.Id(element)).Op(":=").Range().Add(entries)).Block(body...)
}
