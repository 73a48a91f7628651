package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// groupedField fills a pointer to a struct of the message itself. It stays nil if no field of the
// struct is set.
func (f *Func) groupedField(d *model.Field, to string) []jen.Code {
	pre, value := f.value(d, jen.Id("m"), f.Here())
	return append(pre, f.with("$ := $", value, "$.isSet()", func(x *jen.Statement) []jen.Code {
		return []jen.Code{f.Src("$ = new($)", to, x)}
	})...)
}

// isSet writes the method of a struct that reports whether a field is set.
func (e *emitter) isSet(s *model.Struct) jen.Code {
	fields := slice.Map(s.Fields, func(f *model.Field) jen.Code { return e.valueSet(f, "s."+f.GoName(), true) })
	return e.documented("isSet reports whether a field is not zero.", "func (s *$) isSet() bool {\nreturn $\n}",
		s.Name, jen.Custom(jen.Options{Separator: "||\n"}, fields...))
}

// valueSet is the condition that x, the value of a field, is not zero, or that it is.
func (e *emitter) valueSet(f *model.Field, x any, set bool) jen.Code {
	class := f.ZeroClass()
	if v, ok := f.Value.(model.StructOf); ok && class == model.NoClass && v.Struct.Comparable {
		return e.Src("$ $ ($)", x, comparison(!set), v.Struct.Name+"{}")
	}
	return e.nonZero(x, class, set)
}
