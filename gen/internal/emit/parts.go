package emit

import (
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"
	"google.golang.org/protobuf/compiler/protogen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// parts are the parts that a conversion takes of x, the view of a message m.
func (f *fn) parts(c descriptor.Conversion, x jen.Code, m *protogen.Message) *jen.Statement {
	values := make([]jen.Code, 0, len(c.Parts))
	for _, part := range c.Parts {
		alternatives := make([]jen.Code, 0, len(part.Paths))
		for _, text := range part.Paths {
			alternatives = append(alternatives, f.part(x, m, text))
		}
		value := jen.Add(alternatives[0])
		if len(alternatives) > 1 {
			value = f.qual("cmp", "Or").Call(alternatives...)
		}
		values = append(values, jen.Id(part.Name).Op(":").Add(value))
	}
	return f.qual(c.Package, c.Type+"Parts").Add(multiline(values...))
}

// part is the value at a path of the view x; of a oneof, the number of the member that
// is set.
func (f *fn) part(x jen.Code, m *protogen.Message, path string) jen.Code {
	p := model.Path{From: m}
	for name := range strings.SplitSeq(path, ".") {
		if i := slices.IndexFunc(m.Oneofs, func(o *protogen.Oneof) bool { return string(o.Desc.Name()) == name }); i >= 0 {
			return f.get(x, p).Dot(f.memberOf(m.Oneofs[i])).Call()
		}
		field := fieldNamed(m, name)
		p.Steps = append(p.Steps, model.Step{Field: field})
		m = field.Message
	}
	return f.get(x, p)
}

// memberOf is the method of a view that tells which member of a oneof is set.
func (e *emitter) memberOf(o *protogen.Oneof) string {
	e.views.fields[o.Desc.FullName()] = true
	e.views.parents[o.Parent.Desc.FullName()] = true
	e.views.members[o.Desc.FullName()] = true
	return "member" + o.GoName
}

// memberMethod writes the method of [emitter.memberOf].
func (e *emitter) memberMethod(o *protogen.Oneof) jen.Code {
	return e.viewMethod(o.Parent, "member"+o.GoName).Params().Int32().Block(
		jen.If(jen.Id("m").Op("==").Nil()).Block(jen.Return(jen.Lit(0))),
		jen.Return(jen.Id("m").Dot(which(o))),
	)
}
