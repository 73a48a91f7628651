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
	name string
	of   *protogen.Message // of m, where fields are read from it
	root bool              // reads the update itself: it declares the path, and its meta is u's
	base model.Path        // of m, seen from the message of the function
	// How many of the names of local variables are taken.
	values, paths int
	variables     map[string]int
}

func (e *emitter) fn(name string, root bool) *Func {
	return &Func{emitter: e, name: name, root: root, variables: make(map[string]int)}
}

// declare writes the function with its documentation, which begins with its name: its parameters, m among them, and the path of the update in a
// root function that needs one.
func (f *Func) declare(doc, receiver, m string, typ jen.Code, result any, body []jen.Code) jen.Code {
	params, n := f.params(m, typ), f.needs[f.name]
	if f.root && n&needsPath != 0 {
		body = append([]jen.Code{f.Src("var p resource.Path // the message itself")}, body...)
	}
	name := f.named(f.name)
	return f.documented(name+" "+doc, "func $$($) $ {\n$\n}", receiver, name, list(params...), result, body)
}

// params are the function's parameters in their order, about a value m of type t.
func (f *Func) params(m string, t jen.Code) []jen.Code {
	n := f.needs[f.name]
	if f.root {
		n &^= needsMeta | needsPath
	}
	return n.list(f.Src("dc *resource.DecodeContext"), f.Src("meta *resource.Meta"), f.Src("p *resource.Path"), f.Src("$ $", m, t), f.Src("v *resource.Violations"))
}

func (f *Func) meta() string {
	if f.root {
		return "&u.meta"
	}
	return "meta"
}

// call calls another generated function with x, which is at the place. pre declares the
// variables that the call needs.
func (f *Func) call(name string, at Place, x jen.Code) (pre []jen.Code, call *jen.Statement) {
	pre, args := f.arguments(name, at, x)
	return pre, f.Src("$($)", f.named(name), list(args...))
}

// arguments are those of [Func.call].
func (f *Func) arguments(name string, at Place, x jen.Code) (pre, args []jen.Code) {
	n, p := f.needs[name], jen.Code(nil)
	if n&needsPath != 0 {
		pre, p = f.pointer(at)
	}
	return pre, n.list(jen.Id("dc"), jen.Op(f.meta()), p, x, jen.Id("v"))
}

// A Place is where a value stands: a field, dotted, below the path in a
// variable, or that path itself.
type Place struct {
	variable string
	pointer  bool
	field    string
}

// Here is the place of the message or update that the function reads.
func (f *Func) Here() Place { return Place{variable: "p", pointer: !f.root, field: f.base.String()} }

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

// nested writes code one level deeper, with names for an index and an element that are free
// there.
func (f *Func) nested(write func(index, element string) []jen.Code) []jen.Code {
	index, element := local(f.values, "i", "j", "k"), local(f.values, "x", "y", "z")
	f.values++
	defer func() { f.values-- }()
	return write(index, element)
}

// inElement writes code about an element, with a name for its path.
func (f *Func) inElement(write func(path string) []jen.Code) (path string, code []jen.Code) {
	path = f.pathName()
	f.paths++
	defer func() { f.paths-- }()
	return path, write(path)
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
