package emit

import (
	"github.com/dave/jennifer/jen"
	"google.golang.org/protobuf/compiler/protogen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
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
	for _, s := range e.pkg.All() {
		returning := func(h model.Hook, of string) hookType {
			t := e.Src("func(*resource.DecodeContext, $) ($, error)", e.hookParams(h, s.Message), e.ValueType(model.HookOf{Hook: h}))
			return hookType{h.Func, t, "hook of " + of}
		}
		for _, f := range s.Fields {
			if v, ok := f.Value.(model.HookOf); ok {
				out = append(out, returning(v.Hook, "field "+f.Name))
			}
			for _, c := range cases(f) {
				if c.Hook != nil {
					out = append(out, returning(*c.Hook, "case "+c.Type))
				}
			}
		}
	}
	for _, s := range e.pkg.Update.Rules.All() {
		for _, c := range s.Checks {
			if of := c.Path.Message(); c.Rule == nil {
				t := e.Src("func(*resource.DecodeContext, resource.Path, $, *resource.Violations)", e.hookParams(c.Hook, of))
				out = append(out, hookType{c.Hook.Func, t, "hook that validates " + model.Short(of)})
			}
		}
	}
	ofUpdate := e.Src("func(*resource.DecodeContext, *Update, *resource.Violations)")
	out = append(out, slice.Map(e.pkg.Checkers, func(name string) hookType { return hookType{name, ofUpdate, "hook that checks the update"} })...)
	return append(out, slice.Map(e.pkg.Finish, func(name string) hookType { return hookType{name, ofUpdate, "hook that finishes the update"} })...)
}

// hookParams are the types of [Func.hookArgs].
func (e *emitter) hookParams(h model.Hook, of *protogen.Message) jen.Code {
	if len(h.Needs) == 0 {
		return e.message(of)
	}
	return jen.List(slice.Map(h.Needs, func(n model.Need) jen.Code {
		switch {
		case n.Field != nil:
			return e.GoType(n.Field)
		case h.Encoded && n.Message():
			return jen.Op("[]byte")
		}
		return e.pathType(n.Path)
	})...)
}
