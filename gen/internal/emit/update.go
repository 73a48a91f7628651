package emit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// update writes the types of a package and the methods of its update.
func (e *emitter) update() []jen.Code {
	name := string(e.pkg.Message.Desc.FullName())
	doc := cmp.Or(e.pkg.Update.Doc, "Update is one "+string(e.pkg.Message.Desc.Name())+".")
	fields := append(e.structFields(e.pkg.Update), jen.Line().Add(e.Src("meta resource.Meta")))
	out := []jen.Code{
		e.Src("const messageName = $", jen.Lit(name)),
		e.documented(doc+"\n\nIt is immutable and safe to share.", "type Update struct {\n$\n}", fields),
		e.Src("var _ resource.Update = (*Update)(nil)"),
	}
	for _, s := range e.pkg.All() {
		if s != e.pkg.Update {
			out = append(out, e.structType(s)...)
		}
		out = append(out, slice.FlatMap(s.Oneofs(), e.oneofType)...)
	}
	out = append(out, e.template("enums")...)
	out = append(out, e.template("methods")...)
	out = append(out, e.equalUpdate())
	uncomparable := slice.Filter(e.pkg.Structs, func(s *model.Struct) bool { return !s.Comparable })
	grouped := slice.Filter(e.pkg.Structs, func(s *model.Struct) bool { return s.Grouped })
	oneofs := slice.Filter(e.pkg.Oneofs, func(o *model.Oneof) bool { return !(&model.Field{Value: model.OneofOf{Oneof: o}}).Comparable() })
	return slices.Concat(out, slice.Map(uncomparable, e.equalStruct), slice.Map(grouped, e.isSet), slice.Map(oneofs, e.equalOneof))
}

func (e *emitter) structFields(s *model.Struct) []jen.Code {
	return slice.Map(s.Fields, func(f *model.Field) jen.Code {
		field := e.Src("$ $", f.GoName(), e.GoType(f))
		if tag := shownAs(f); tag != "" {
			field.Tag(map[string]string{"xds": tag})
		}
		if f.Doc != "" {
			field = jen.Add(comment(f.Doc)).Line().Add(field)
		}
		return field
	})
}

// shownAs is the struct tag that tells package runtime how to show a field. It is empty for fields that are shown as they are,
// and for hidden secrets, which are not shown.
func shownAs(f *model.Field) string {
	switch {
	case f.Secret && !f.Hidden:
		return "secret"
	case f.Hidden && !f.Secret:
		return "shown=" + f.Name
	}
	return ""
}

// isSet writes the method of a struct that reports whether a field is set.
func (e *emitter) isSet(s *model.Struct) jen.Code {
	fields := slice.Map(s.Fields, func(f *model.Field) jen.Code { return e.valueSet(f, "s."+f.GoName(), true) })
	return e.documented("isSet reports whether a field is not zero.", "func (s *$) isSet() bool {\nreturn $\n}",
		s.Name, jen.Custom(jen.Options{Separator: "||\n"}, fields...))
}

// oneofType writes a closed interface.
func (e *emitter) oneofType(o *model.Oneof) []jen.Code {
	names := slice.Map(o.Cases, func(c *model.Case) string { return "[" + c.Type + "]" })
	cases := names[0]
	if n := len(names); n > 1 {
		cases = strings.Join(names[:n-1], ", ") + " or " + names[n-1]
	}
	decl := e.documented(o.Name+" is "+cases+".", "type $ interface {\nis$()\n}", o.Name, o.Name)
	hooks := slice.Filter(o.Cases, func(c *model.Case) bool { return c.Hook != nil })
	return append([]jen.Code{decl}, slice.Map(hooks, func(c *model.Case) jen.Code { return e.marker(c.Type, o) })...)
}

// structType writes a struct, and the methods that make it a case of oneofs.
func (e *emitter) structType(s *model.Struct) []jen.Code {
	doc := cmp.Or(s.Doc, fmt.Sprintf("%s holds fields of %s.", s.Name, s.Message.Desc.FullName()))
	markers := slice.Map(s.Cases, func(o *model.Oneof) jen.Code { return e.marker(s.Name, o) })
	return append([]jen.Code{e.documented(doc, "type $ struct {\n$\n}", s.Name, e.structFields(s))}, markers...)
}

// marker writes the method that makes a type a case of a oneof.
func (e *emitter) marker(typ string, o *model.Oneof) jen.Code {
	return e.Src("func (" + typ + ") is" + o.Name + "() {}")
}
