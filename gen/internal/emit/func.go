package emit

import (
	"fmt"

	"github.com/dave/jennifer/jen"
	"google.golang.org/protobuf/compiler/protogen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// A Func writes the body of one function.
type Func struct {
	*emitter
	of   *protogen.Message // of the function
	base []model.Step      // the path from it to m
	// How many of the names of local variables are taken.
	values, paths int
	variables     map[string]int
}

// A Body writes the code for x, a value at a place.
type Body func(x *jen.Statement, at Place) []jen.Code

func (e *emitter) fn(of *protogen.Message) *Func {
	return &Func{emitter: e, of: of, variables: make(map[string]int)}
}

// decodes writes a function that decodes a message m of a type. All these functions have the same parameters, behind the target that
// some fill. The documentation begins with the name.
func (f *Func) decodes(name, doc, receiver, target string, typ jen.Code, result any, body []jen.Code) jen.Code {
	return f.documented(f.named(name)+" "+doc, `func $$($dc *resource.DecodeContext, meta *resource.Meta, p *resource.Path, m $, v *resource.Violations) $ {
		$
	}`, receiver, f.named(name), target, typ, result, body)
}

// validates writes a function that checks the rules about a value of a type. All these functions have the same parameters.
func (f *Func) validates(name, doc, m string, typ jen.Code, body []jen.Code) jen.Code {
	return f.documented(f.named(name)+" "+doc, `func $(dc *resource.DecodeContext, p *resource.Path, $ $, v *resource.Violations) {
		$
	}`, f.named(name), m, typ, body)
}

// decoded calls the function that decodes x, which is at the place. It gets the context of a side, if there is one, and a pointer to
// the target, if it does not return a value. pre declares the variables that the call needs.
func (f *Func) decoded(name, side string, x jen.Code, at Place, target ...jen.Code) (pre []jen.Code, call *jen.Statement) {
	dc := jen.Id("dc")
	if side != "" {
		dc = f.Src("dc.At($)", f.sideOf(side))
	}
	pre, p := f.pointer(at)
	return pre, f.Src("$($)", f.named("decode"+name), jen.List(append(target, dc, jen.Id("meta"), p, x, jen.Id("v"))...))
}

// A Place is where a value stands: a field, dotted, below the path in a
// variable, or that path itself.
type Place struct {
	variable string
	pointer  bool
	field    string
}

// Here is the place of the message or update that the function reads.
func (f *Func) Here() Place {
	return Place{variable: "p", pointer: true, field: model.Path{Steps: f.base}.String()}
}

// Below is the place of a path without repeated steps, seen from pl.
func (pl Place) Below(p model.Path) Place { return pl.Child(p.String()) }

// Child is the place of a field, seen from pl.
func (pl Place) Child(name string) Place {
	if pl.field != "" && name != "" {
		name = "." + name
	}
	pl.field += name
	return pl
}

// path is the place as a resource.Path.
func (f *Func) path(at Place) jen.Code {
	switch {
	case at.field != "":
		return f.Src("$.Field($)", at.variable, jen.Lit(at.field))
	case at.pointer:
		return jen.Op("*" + at.variable)
	}
	return jen.Id(at.variable)
}

// pointer is the place as a *resource.Path.
func (f *Func) pointer(at Place) (pre []jen.Code, p jen.Code) {
	switch {
	case at.field != "":
		name := f.pathName()
		return []jen.Code{f.Src("$ := $", name, f.path(at))}, jen.Op("&" + name)
	case at.pointer:
		return nil, jen.Id(at.variable)
	}
	return nil, jen.Op("&" + at.variable)
}

// nested writes code one level deeper, with a name for a value that is free there.
func (f *Func) nested(write func(x *jen.Statement) []jen.Code) []jen.Code {
	x := jen.Id(local(f.values, "x", "y", "z"))
	f.values++
	defer func() { f.values-- }()
	return write(x)
}

// with writes an if statement that declares x for a value, and body with x. In init, the
// first $ is x, and the second one is the value. In cond, $ is x.
func (f *Func) with(init string, value jen.Code, cond string, body func(x *jen.Statement) []jen.Code) []jen.Code {
	return f.nested(func(x *jen.Statement) []jen.Code {
		return []jen.Code{f.If(f.Src(init, x, value), f.Src(cond, x), body(x)...)}
	})
}

// pathName is a free name for a path.
func (f *Func) pathName() string { return local(f.paths, "q", "r", "w") }

// local is the name of a variable at a depth: one of the names, and below them
// the first with a number.
func local(depth int, names ...string) string {
	if depth < len(names) {
		return names[depth]
	}
	return fmt.Sprint(names[0], depth+1)
}

// Variable is a name, with a number where the function has it already.
func (f *Func) Variable(name string) string {
	f.variables[name]++
	if n := f.variables[name]; n > 1 {
		return fmt.Sprint(name, n)
	}
	return name
}

// Violation adds a violation; a nil value is not shown.
func (f *Func) Violation(at Place, value jen.Code, rule string) jen.Code {
	if value == nil {
		value = jen.Nil()
	}
	return f.Src("v.Add($, $, $)", f.path(at), value, jen.Lit(rule))
}

// message is the Go type of a message, a pointer.
func (e *emitter) message(m *protogen.Message) *jen.Statement { return e.Src("*$", e.ident(m.GoIdent)) }

func (e *emitter) ident(id protogen.GoIdent) *jen.Statement {
	return e.qual(string(id.GoImportPath), id.GoName)
}
