package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// equalUpdate writes the comparison of updates, which may be nil.
func (e *emitter) equalUpdate() jen.Code {
	body := []jen.Code{
		jen.If(jen.Id("u").Op("==").Nil().Op("||").Id("o").Op("==").Nil()).Block(jen.Return(jen.Id("u").Op("==").Id("o"))),
		jen.Return(e.equalFields(e.pkg.Update, "u")),
	}
	return documented("Equal reports whether the fields of u and o are equal. It ignores the name, the version and the parts of the message that no field reads.",
		jen.Func().Params(jen.Id("u").Op("*").Id("Update")).Id("Equal").Params(jen.Id("o").Op("*").Id("Update")).Bool().Block(body...))
}

func (e *emitter) equalStruct(s *model.Struct) jen.Code {
	return documented("Equal reports whether the fields of s and o are equal.",
		jen.Func().Params(jen.Id("s").Id(s.Name)).Id("Equal").Params(jen.Id("o").Id(s.Name)).Bool().Block(
			jen.Return(e.equalFields(s, "s")),
		))
}

// equalFields compares all fields of two structs.
func (e *emitter) equalFields(s *model.Struct, receiver string) jen.Code {
	if len(s.Fields) == 0 {
		return jen.True()
	}
	out := jen.Null()
	for i, f := range s.Fields {
		if i > 0 {
			out.Op("&&").Line()
		}
		out.Add(e.equalField(f, jen.Id(receiver).Dot(f.GoName()), jen.Id("o").Dot(f.GoName())))
	}
	return out
}

// comparable reports whether == compares values of the field.
func (e *emitter) comparable(f *model.Field) bool {
	return f.Comparable() && !f.List && !f.IsMap() && !f.Optional
}

// equalField compares two values of a field.
func (e *emitter) equalField(f *model.Field, a, b *jen.Statement) jen.Code {
	one := *f
	one.List, one.Key, one.Optional = false, model.NoClass, false
	plain := e.comparable(&one)
	switch {
	case f.List && plain:
		return e.qual("slices", "Equal").Call(a, b)
	case f.List:
		return e.qual("slices", "EqualFunc").Call(a, b, e.equalFunc(f.Value))
	case f.IsMap() && plain:
		return e.qual("maps", "Equal").Call(a, b)
	case f.IsMap():
		return e.qual("maps", "EqualFunc").Call(a, b, e.equalFunc(f.Value))
	case f.Optional && plain:
		return e.convert("EqualPointers").Call(a, b, e.convert("Same"))
	case f.Optional:
		return e.convert("EqualPointers").Call(a, b, e.equalFunc(f.Value))
	case plain:
		return a.Op("==").Add(b)
	}
	switch v := f.Value.(type) {
	case model.StructOf, model.Converted:
		return a.Dot("Equal").Call(b)
	case model.Plain:
		if v.Class == model.Timestamp {
			return a.Dot("Equal").Call(b)
		}
	}
	return jen.Add(e.equalFunc(f.Value)).Call(a, b)
}

// equalFunc is a function that compares two values.
func (e *emitter) equalFunc(v model.Value) jen.Code {
	switch v := v.(type) {
	case model.StructOf:
		return jen.Id(v.Struct.Name).Dot("Equal")
	case model.OneofOf:
		return jen.Id("equal" + v.Oneof.Name)
	case model.InlineOf:
		return e.convert("EqualUpdates")
	case model.Converted:
		if v.Conversion.Equal {
			return e.conversionType(v.Conversion).Dot("Equal")
		}
	case model.Plain:
		switch v.Class {
		case model.Bytes:
			return e.qual("bytes", "Equal")
		case model.Timestamp:
			return e.qual("time", "Time").Dot("Equal")
		default:
		}
	}
	return e.convert("EqualValues")
}

// equalOneof writes the comparison of two values of a oneof if == cannot compare all cases.
func (e *emitter) equalOneof(o *model.Oneof) jen.Code {
	cases := make([]jen.Code, len(o.Cases))
	for i, c := range o.Cases {
		cases[i] = jen.Case(jen.Id(c.Type)).Block(e.equalCase(c)...)
	}
	compare := jen.Switch(jen.Id("a").Op(":=").Id("a").Assert(jen.Type())).Block(cases...)
	if len(o.Cases) == 1 {
		c := o.Cases[0]
		compare = jen.If(jen.List(jen.Id("a"), jen.Id("ok")).Op(":=").Id("a").Assert(jen.Id(c.Type)), jen.Id("ok")).Block(e.equalCase(c)...)
	}
	return jen.Func().Id("equal"+o.Name).Params(jen.List(jen.Id("a"), jen.Id("b")).Id(o.Name)).Bool().Block(
		compare,
		jen.Return(jen.Id("a").Op("==").Id("b")),
	)
}

// equalCase compares a, which is of the case's type, with b, which may be.
func (e *emitter) equalCase(c *model.Case) []jen.Code {
	equal := jen.Id("a").Dot("Equal").Call(jen.Id("c"))
	switch {
	case c.Struct == nil:
		equal = e.convert("EqualValues").Call(jen.Id("a"), jen.Id("c"))
	case c.Struct.Comparable:
		equal = jen.Id("a").Op("==").Id("c")
	}
	return []jen.Code{
		jen.List(jen.Id("c"), jen.Id("ok")).Op(":=").Id("b").Assert(jen.Id(c.Type)),
		jen.Return(jen.Id("ok").Op("&&").Add(equal)),
	}
}
