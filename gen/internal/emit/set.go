package emit

import (
	"go/ast"

	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// groupedField fills a pointer to a struct of the message itself. It stays nil if no field of the
// struct is set.
func (f *Func) groupedField(d *model.Field, to string) []jen.Code {
	pre, value := f.value(d, jen.Id("m"), f.Here())
	return append(pre, f.nested(func(_, element string) []jen.Code {
		return []jen.Code{f.If(f.Src("$ := $", element, value), f.Src("$.isSet()", element), f.Src("$ = new($)", to, element))}
	})...)
}

// isSet writes the method of a struct that reports whether a field is set.
func (e *emitter) isSet(s *model.Struct) jen.Code {
	fields := make([]jen.Code, len(s.Fields))
	for i, f := range s.Fields {
		fields[i] = e.fieldSet(f, "s."+f.GoName())
	}
	return e.documented("isSet reports whether a field is not zero.", "func (s *$) isSet() bool {\nreturn $\n}",
		s.Name, jen.Custom(jen.Options{Separator: "||\n"}, fields...))
}

// fieldSet reports whether a value of a field is not zero.
func (e *emitter) fieldSet(f *model.Field, x string) jen.Code {
	if f.List || f.IsMap() {
		return e.Src("len($) > 0", x)
	}
	if f.Optional {
		return e.Src("$ != nil", x)
	}
	switch v := f.Value.(type) {
	case model.OneofOf, model.InlineOf:
		return e.Src("$ != nil", x)
	case model.EnumOf:
		return e.Src("$ != 0", x)
	case model.StructOf:
		if v.Struct.Comparable {
			return e.Src("$ != ($)", x, v.Struct.Name+"{}")
		}
	case model.Plain:
		return e.plainSet(v.Class, x)
	case model.HookOf:
		switch v.Hook.Type.Expr.(type) {
		case *ast.MapType, *ast.StarExpr:
			return e.Src("$ != nil", x)
		}
	}
	return e.Src("convert.IsSet($)", x)
}

func (e *emitter) plainSet(c model.Class, x string) jen.Code {
	switch c {
	case model.Bool:
		return e.Src("$", x)
	case model.String:
		return e.Src(`$ != ""`, x)
	case model.Bytes, model.JSON, model.JSONList:
		return e.Src("len($) > 0", x)
	case model.JSONValue:
		return e.Src("$ != nil", x)
	case model.Timestamp:
		return e.Src("!$.IsZero()", x)
	default:
		return e.Src("$ != 0", x)
	}
}
