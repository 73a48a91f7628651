package emit

import (
	"fmt"

	"github.com/dave/jennifer/jen"
	"google.golang.org/protobuf/compiler/protogen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// uses are the parameters that a function's body needs. A function with place fills the
// struct at the pointer that it gets, instead of returning a struct.
type uses struct{ place, dc, meta, path, violations bool }

func (u uses) or(o uses) uses {
	return uses{u.place || o.place, u.dc || o.dc, u.meta || o.meta, u.path || o.path, u.violations || o.violations}
}

// A fn is a function that is being written. Asking it for a parameter makes the
// function have it.
type fn struct {
	*emitter
	name string
	of   *protogen.Message // what m is, where fields are made of it
	root bool              // reads the update itself: it makes the path, and its meta is u's
	used uses
	self *pathVar
	// How many of the names of local variables are taken.
	values, paths int
	variables     map[string]int
}

func (e *emitter) fn(name string, root bool) *fn {
	return &fn{emitter: e, name: name, root: root, self: &pathVar{name: "p", pointer: !root}, variables: make(map[string]int)}
}

// done returns the parameters that the function turned out to need.
func (f *fn) done() uses {
	f.used.path = f.self.used
	if all := f.uses[f.name].or(f.used); all != f.uses[f.name] {
		f.uses[f.name] = all
		f.changed = true
	}
	return f.uses[f.name]
}

// prelude declares the path of the update where a root function needs it.
func (f *fn) prelude(body []jen.Code) []jen.Code {
	if !f.root || !f.self.used {
		return body
	}
	decl := jen.Var().Id("p").Add(f.resource("Path")).Comment("// the message itself")
	return append([]jen.Code{decl}, body...)
}

// params are the function's parameters in their order, about a value m of type t.
func (f *fn) params(u uses, m string, t jen.Code) []jen.Code {
	var out []jen.Code
	if u.dc {
		out = append(out, jen.Id("dc").Op("*").Add(f.resource("DecodeContext")))
	}
	if u.meta && !f.root {
		out = append(out, jen.Id("meta").Op("*").Add(f.resource("Meta")))
	}
	if u.path && !f.root {
		out = append(out, jen.Id("p").Op("*").Add(f.resource("Path")))
	}
	out = append(out, jen.Id(m).Add(t))
	if u.violations {
		out = append(out, jen.Id("v").Op("*").Add(f.resource("Violations")))
	}
	return out
}

func (f *fn) dc() jen.Code {
	f.used.dc = true
	return jen.Id("dc")
}

func (f *fn) meta() jen.Code {
	f.used.meta = true
	if f.root {
		return jen.Op("&").Id("u").Dot("meta")
	}
	return jen.Id("meta")
}

func (f *fn) v() *jen.Statement {
	f.used.violations = true
	return jen.Id("v")
}

// call calls another generated function with x, which is at the place. pre declares the
// variables that the call needs.
func (f *fn) call(name string, at place, x jen.Code) (pre []jen.Code, call *jen.Statement) {
	pre, args := f.arguments(name, at, x)
	return pre, jen.Id(name).Call(args...)
}

// arguments are those of [fn.call].
func (f *fn) arguments(name string, at place, x jen.Code) (pre, args []jen.Code) {
	u := f.uses[name]
	if u.dc {
		args = append(args, f.dc())
	}
	if u.meta {
		args = append(args, f.meta())
	}
	if u.path {
		var p jen.Code
		pre, p = f.pointer(at)
		args = append(args, p)
	}
	args = append(args, x)
	if u.violations {
		args = append(args, f.v())
	}
	return pre, args
}

// A pathVar is a parameter or variable that holds a path.
type pathVar struct {
	name    string
	pointer bool
	used    bool
}

// A place is where a value stands: a field, dotted, below the path in a
// variable, or that path itself.
type place struct {
	v     *pathVar
	field string
}

func (f *fn) here() place { return place{v: f.self} }

// below is the place of a path without repeated steps, seen from pl.
func (pl place) below(p model.Path) place {
	switch {
	case len(p.Steps) == 0:
		return pl
	case pl.field == "":
		return place{pl.v, p.String()}
	}
	return place{pl.v, pl.field + "." + p.String()}
}

// path is the place as a resource.Path.
func (f *fn) path(at place) jen.Code {
	at.v.used = true
	switch {
	case at.field != "":
		return jen.Id(at.v.name).Dot("Field").Call(jen.Lit(at.field))
	case at.v.pointer:
		return jen.Op("*").Id(at.v.name)
	}
	return jen.Id(at.v.name)
}

// pointer is the place as a *resource.Path.
func (f *fn) pointer(at place) (pre []jen.Code, p jen.Code) {
	at.v.used = true
	switch {
	case at.field != "":
		name := f.pathName()
		return []jen.Code{jen.Id(name).Op(":=").Id(at.v.name).Dot("Field").Call(jen.Lit(at.field))}, jen.Op("&").Id(name)
	case at.v.pointer:
		return nil, jen.Id(at.v.name)
	}
	return nil, jen.Op("&").Id(at.v.name)
}

// locals are the names of an index and an element.
type locals struct{ index, element string }

// nested writes code one level deeper, with names that are free there.
func (f *fn) nested(write func(locals) []jen.Code) []jen.Code {
	l := locals{local(f.values, "i", "j", "k"), local(f.values, "x", "y", "z")}
	f.values++
	defer func() { f.values-- }()
	return write(l)
}

// pathName is a free name for a path.
func (f *fn) pathName() string { return local(f.paths, "q", "r", "w") }

// local is the name of a variable at a depth: one of the names, and below them
// the first with a number.
func local(depth int, names ...string) string {
	if depth < len(names) {
		return names[depth]
	}
	return fmt.Sprint(names[0], depth+1)
}

// variable is a name, with a number where the function has it already.
func (f *fn) variable(name string) string {
	f.variables[name]++
	if n := f.variables[name]; n > 1 {
		return fmt.Sprint(name, n)
	}
	return name
}

// violation adds a violation; a nil value is not shown.
func (f *fn) violation(at place, value jen.Code, rule string) jen.Code {
	if value == nil {
		value = jen.Nil()
	}
	return f.v().Dot("Add").Call(f.path(at), value, jen.Lit(rule))
}

// message is the Go type of a message, a pointer.
func (e *emitter) message(m *protogen.Message) *jen.Statement {
	return jen.Op("*").Add(e.ident(m.GoIdent))
}

func (e *emitter) ident(id protogen.GoIdent) *jen.Statement {
	return e.qual(string(id.GoImportPath), id.GoName)
}
