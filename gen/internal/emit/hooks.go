package emit

import (
	"github.com/dave/jennifer/jen"
	"google.golang.org/protobuf/compiler/protogen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// A hookType is a hook and the type that it must have.
type hookType struct {
	name string
	typ  *jen.Statement
	of   string
}

// hookTypes declares the type of every hook, so that the compiler's error about a hook
// shows its name and required type.
func (e *emitter) hookTypes() []jen.Code {
	var out []jen.Code
	seen := make(map[string]bool)
	for _, h := range e.hooks() {
		if key := h.name + h.of; !seen[key] {
			seen[key] = true
			decl := e.Src("// $\nvar _ $ = $\n", h.of, h.typ, h.name)
			if out == nil {
				decl = jen.Add(comment("The hooks are hand-written functions. These declarations state their types.")).Line().Line().Add(decl)
			}
			out = append(out, decl)
		}
	}
	return out
}

func (e *emitter) hooks() []hookType {
	var out []hookType
	for _, s := range e.structs() {
		for _, f := range s.Fields {
			if h, ok := f.Value.(model.HookOf); ok {
				out = append(out, hookType{h.Hook.Func, e.valueHook(h.Hook, s.Message), "hook of field " + f.Name})
			}
			if o, ok := f.Value.(model.OneofOf); ok {
				for _, c := range o.Oneof.Cases {
					if c.Hook != nil {
						out = append(out, hookType{c.Hook.Func, e.valueHook(*c.Hook, s.Message), "hook of case " + c.Type})
					}
				}
			}
		}
	}
	if e.pkg.Update.Rules != nil {
		out = e.validateHooks(out, e.pkg.Update.Rules)
	}
	ofUpdate := e.Src("func(*resource.DecodeContext, *Update, *resource.Violations)")
	for _, name := range e.pkg.Checkers {
		out = append(out, hookType{name, ofUpdate, "hook that checks the update"})
	}
	for _, name := range e.pkg.Finish {
		out = append(out, hookType{name, ofUpdate, "hook that finishes the update"})
	}
	return out
}

// valueHook is the type of a hook that returns a value.
func (e *emitter) valueHook(h model.Hook, here *protogen.Message) *jen.Statement {
	params := []jen.Code{e.Src("*resource.DecodeContext")}
	for _, n := range h.Needs {
		switch {
		case n.Field != nil:
			params = append(params, e.goType(n.Field))
		case h.Encoded && n.Message():
			params = append(params, jen.Op("[]byte"))
		default:
			params = append(params, e.pathType(n.Path))
		}
	}
	if len(h.Needs) == 0 {
		params = append(params, e.message(here))
	}
	return e.Src("func($) ($, error)", list(params...), e.exprType(h.Type.Expr, h.Type.Packages))
}

func (e *emitter) validateHooks(out []hookType, s *model.Scope) []hookType {
	for _, c := range s.Checks {
		if c.Rule != nil {
			continue
		}
		var params []jen.Code
		for _, p := range c.Needs {
			params = append(params, e.pathType(p))
		}
		if len(c.Needs) == 0 {
			params = append(params, e.message(c.Path.Message()))
		}
		t := e.Src("func(*resource.DecodeContext, resource.Path, $, *resource.Violations)", list(params...))
		out = append(out, hookType{c.Hook, t, "hook that validates " + model.Short(c.Path.Message())})
	}
	for _, u := range s.Under {
		out = e.validateHooks(out, u.Scope)
	}
	return out
}
