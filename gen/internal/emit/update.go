package emit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// update writes the types of a package and the methods of its update.
func (e *emitter) update() []jen.Code {
	name := string(e.pkg.Message.Desc.FullName())
	short := name[strings.LastIndexByte(name, '.')+1:]
	doc := cmp.Or(e.pkg.Update.Doc, "Update is one "+short+".")
	fields := append(e.structFields(e.pkg.Update), jen.Line().Id("meta").Add(e.resource("Meta")))
	out := []jen.Code{
		jen.Const().Id("messageName").Op("=").Lit(name),
		documented(doc+"\n\nIt is immutable and safe to share.", jen.Type().Id("Update").Struct(fields...)),
		jen.Var().Id("_").Add(e.resource("Update")).Op("=").Parens(jen.Op("*").Id("Update")).Parens(jen.Nil()),
	}
	for _, s := range slices.Concat([]*model.Struct{e.pkg.Update}, e.pkg.Structs) {
		if s != e.pkg.Update {
			out = append(out, e.structType(s)...)
		}
		for _, o := range s.Oneofs() {
			out = append(out, e.oneofType(o)...)
		}
	}
	for _, enum := range e.pkg.Enums {
		out = append(out, e.enumType(enum)...)
	}
	out = append(out, e.metaMethods()...)
	out = append(out, e.proto())
	out = append(out, e.printing()...)
	out = append(out, e.equalUpdate())
	for _, s := range e.pkg.Structs {
		if !s.Comparable {
			out = append(out, e.equalStruct(s))
		}
	}
	for _, o := range e.pkg.Oneofs {
		if f := (&model.Field{Value: model.OneofOf{Oneof: o}}); !e.comparable(f) {
			out = append(out, e.equalOneof(o))
		}
	}
	return out
}

func structDoc(s *model.Struct) string {
	return cmp.Or(s.Doc, fmt.Sprintf("%s holds fields of %s.", s.Name, s.Message.Desc.FullName()))
}

func (e *emitter) structFields(s *model.Struct) []jen.Code {
	var out []jen.Code
	for _, f := range s.Fields {
		field := jen.Id(f.GoName()).Add(e.goType(f))
		if tag := shownAs(f); tag != "" {
			field.Tag(map[string]string{"xds": tag})
		}
		if f.Doc != "" {
			out = append(out, documented(f.Doc, field))
		} else {
			out = append(out, field)
		}
	}
	return out
}

// oneofType writes a closed interface.
func (e *emitter) oneofType(o *model.Oneof) []jen.Code {
	names := make([]string, len(o.Cases))
	for i, c := range o.Cases {
		names[i] = "[" + c.Type + "]"
	}
	list := names[0]
	if n := len(names); n > 1 {
		list = strings.Join(names[:n-1], ", ") + " or " + names[n-1]
	}
	out := []jen.Code{documented(o.Name+" is "+list+".", jen.Type().Id(o.Name).Interface(jen.Id(marker(o)).Params()))}
	for _, c := range o.Cases {
		if c.Hook != nil {
			out = append(out, markerMethod(c.Type, o))
		}
	}
	return out
}

// structType writes a struct, and the methods that make it a case of oneofs.
func (e *emitter) structType(s *model.Struct) []jen.Code {
	methods := make([]jen.Code, len(s.Cases))
	for i, o := range s.Cases {
		methods[i] = markerMethod(s.Name, o)
	}
	decl := documented(structDoc(s), jen.Type().Id(s.Name).Struct(e.structFields(s)...))
	return append([]jen.Code{decl}, methods...)
}

func marker(o *model.Oneof) string { return "is" + o.Name }

func markerMethod(typ string, o *model.Oneof) jen.Code {
	return jen.Func().Params(jen.Id(typ)).Id(marker(o)).Params().Block()
}
