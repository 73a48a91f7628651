package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// equalUpdate writes the comparison of updates, which may be nil.
func (e *emitter) equalUpdate() jen.Code {
	return e.documented("Equal reports whether the fields of u and o are equal. It ignores the name, the version and the parts of the message that no field reads.",
		"func (u *Update) Equal(o *Update) bool {\nif u == nil || o == nil {\nreturn u == o\n}\nreturn $\n}", e.equalFields(e.pkg.Update, "u"))
}

func (e *emitter) equalStruct(s *model.Struct) jen.Code {
	return e.documented("Equal reports whether the fields of s and o are equal.",
		"func (s $) Equal(o $) bool {\nreturn $\n}", s.Name, s.Name, e.equalFields(s, "s"))
}

// equalFields compares all fields of two structs.
func (e *emitter) equalFields(s *model.Struct, receiver string) jen.Code {
	if len(s.Fields) == 0 {
		return jen.True()
	}
	fields := slice.Map(s.Fields, func(f *model.Field) jen.Code { return e.equalField(f, receiver+"."+f.GoName(), "o."+f.GoName()) })
	return jen.Custom(jen.Options{Separator: "&&\n"}, fields...)
}

// equalField compares two values of a field.
func (e *emitter) equalField(f *model.Field, a, b string) jen.Code {
	one := *f
	one.List, one.Key, one.Optional = false, model.NoClass, false
	plain := one.Comparable()
	all := map[bool]string{true: "slices.Equal", false: "maps.Equal"}[f.List]
	equal, method := e.equalFunc(f.Value)
	switch {
	case (f.List || f.IsMap()) && plain:
		return e.Src(all+"($, $)", a, b)
	case f.List || f.IsMap():
		return e.Src(all+"Func($, $, $)", a, b, equal)
	case f.Optional && plain:
		return e.Src("convert.EqualPointers($, $, convert.Same)", a, b)
	case f.Optional:
		return e.Src("convert.EqualPointers($, $, $)", a, b, equal)
	case plain:
		return e.Src("$ == $", a, b)
	case method:
		return e.Src("$.Equal($)", a, b)
	}
	return e.Src("$($, $)", equal, a, b)
}

// equalFunc is a function that compares two values, perhaps the method Equal of their type.
func (e *emitter) equalFunc(v model.Value) (equal jen.Code, method bool) {
	switch v := v.(type) {
	case model.OneofOf:
		return jen.Id("equal" + v.Oneof.Name), false
	case model.InlineOf:
		return e.Src("convert.EqualUpdates"), false
	case model.HookOf:
		return e.Src("convert.EqualValues"), false
	case model.Plain:
		if v.Class == model.Bytes {
			return e.Src("bytes.Equal"), false
		}
		if v.Class != model.Timestamp {
			return e.Src("convert.EqualValues"), false
		}
	}
	return e.Src("$.Equal", e.ValueType(v)), true
}

// equalOneof writes the comparison of two values of a oneof if == cannot compare all cases. Hand-written cases are compared
// by their method Equal.
func (e *emitter) equalOneof(o *model.Oneof) jen.Code {
	cases := slice.Map(o.Cases, func(c *model.Case) jen.Code { return e.Src("case $:\n$", c.Type, e.equalCase(c)) })
	compare := e.Src("switch a := a.(type) {\n$\n}", cases)
	if len(o.Cases) == 1 {
		compare = e.Src("if a, ok := a.($); ok {\n$\n}", o.Cases[0].Type, e.equalCase(o.Cases[0]))
	}
	return e.Src("func $(a, b $) bool {\n$\nreturn convert.EqualValues(a, b)\n}", "equal"+o.Name, o.Name, compare)
}

// equalCase compares a, which is of the case's type, with b, which may be.
func (e *emitter) equalCase(c *model.Case) jen.Code {
	equal := e.Src("a.Equal(c)")
	switch {
	case c.Struct == nil:
		equal = e.Src("convert.EqualValues(a, c)")
	case c.Struct.Comparable:
		equal = e.Src("a == c")
	}
	return e.Src("c, ok := b.($)\nreturn ok && $", c.Type, equal)
}
