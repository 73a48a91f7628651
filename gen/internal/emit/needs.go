package emit

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// needs are the parameters of a generated function beside the value that it reads.
type needs struct{ dc, meta, path, violations bool }

func (n needs) or(o needs) needs {
	return needs{n.dc || o.dc, n.meta || o.meta, n.path || o.path, n.violations || o.violations}
}

// list has those of the parameters or arguments of a function that it needs, and the value m.
func (n needs) list(dc, meta, path, m, violations jen.Code) []jen.Code {
	var out []jen.Code
	for _, p := range []struct {
		needed bool
		code   jen.Code
	}{{n.dc, dc}, {n.meta, meta}, {n.path, path}, {true, m}, {n.violations, violations}} {
		if p.needed {
			out = append(out, p.code)
		}
	}
	return out
}

// reports are the needs of a function that adds a violation.
func reports() needs { return needs{path: true, violations: true} }

// A callGraph has the functions that decode and validate, with the parameters that their
// own code needs and the functions that they call.
type callGraph struct {
	own   map[string]needs
	calls map[string][]string
}

func (g callGraph) add(name string, n needs, calls ...string) {
	g.own[name] = g.own[name].or(n)
	g.calls[name] = append(g.calls[name], calls...)
}

// reach returns the needs of a function and of all that it calls, directly or not.
func (g callGraph) reach(name string, seen map[string]bool) needs {
	n := g.own[name]
	seen[name] = true
	for _, called := range g.calls[name] {
		if !seen[called] {
			n = n.or(g.reach(called, seen))
		}
	}
	return n
}

// findNeeds returns the parameters of every function, by its name.
func (e *emitter) findNeeds() map[string]needs {
	g := callGraph{make(map[string]needs), make(map[string][]string)}
	for _, s := range e.structs() {
		name := e.decodeName(s)
		for _, d := range s.Fields {
			e.addField(g, name, s, d)
		}
		g.add(name, needs{dc: s.Keep != nil && s.Keep.Profile != "" || s.Stop != nil && s.Stop.Profile != ""})
		if s.Rules != nil {
			addScope(g, s.Rules)
			if s != e.pkg.Update {
				g.add(name, needs{}, s.Rules.Func)
			}
		}
	}
	if len(e.pkg.GoChecks) > 0 {
		addScope(g, &model.Scope{Func: "validateUpdate", Checks: e.pkg.GoChecks})
	}
	all := make(map[string]needs)
	for name := range g.own {
		all[name] = g.reach(name, make(map[string]bool))
	}
	return all
}

// decodeName is the name of the function that decodes a struct.
func (e *emitter) decodeName(s *model.Struct) string {
	if s == e.pkg.Update {
		return "decode"
	}
	return "decode" + s.Name
}

func contextNeeds(c model.Context) needs { return needs{dc: !c.Empty()} }

// addField adds the needs and the calls of the code for one field of a struct.
func (e *emitter) addField(g callGraph, name string, s *model.Struct, d *model.Field) {
	g.add(name, contextNeeds(d.When.Context))
	if d.SelfName {
		g.add(name, needs{dc: true})
	}
	if d.Ref != "" {
		g.add(name, needs{true, true, true, true})
	}
	if fn, _ := e.arena(d, s.Message); fn != "" && d.List && hasLength(d.Paths) {
		g.add(name, needs{dc: true})
	}
	switch v := d.Value.(type) {
	case model.Plain:
		if v.Class == model.Duration || v.Class == model.Timestamp {
			g.add(name, reports())
		}
	case model.Converted:
		if v.Conversion.Func == "" {
			g.add(name, needs{dc: true})
		} else {
			g.add(name, reports().or(needs{dc: v.Conversion.Context}))
		}
	case model.EnumOf:
		if v.Enum.Otherwise == nil {
			g.add(name, reports())
		}
	case model.StructOf:
		if v.Any != nil {
			g.add(name, reports().or(needs{dc: true}))
		}
		g.add(name, needs{}, e.decodeName(v.Struct))
	case model.OneofOf:
		g.add(name, needs{}, "decode"+v.Oneof.Name)
		e.addOneof(g, v.Oneof)
	case model.InlineOf:
		g.add(name, needs{true, true, true, true})
	case model.HookOf:
		g.add(name, reports().or(needs{dc: true}))
	}
}

func (e *emitter) addOneof(g callGraph, o *model.Oneof) {
	name := "decode" + o.Name
	g.add(name, needs{})
	for _, c := range o.Cases {
		g.add(name, contextNeeds(c.When.Context))
		if c.Any != nil || c.Hook != nil {
			g.add(name, reports().or(needs{dc: true}))
		}
		if c.Struct != nil {
			g.add(name, needs{}, e.decodeName(c.Struct))
		}
	}
}

func addScope(g callGraph, s *model.Scope) {
	g.add(s.Func, needs{})
	for _, c := range s.Checks {
		g.add(s.Func, reports().or(contextNeeds(c.When.Context)).or(needs{dc: usesContext(c.Rule)}))
	}
	for _, u := range s.Under {
		g.add(s.Func, contextNeeds(u.When.Context), u.Scope.Func)
		addScope(g, u.Scope)
	}
}

// fieldNeeds are the parameters that the code of one field needs.
func (e *emitter) fieldNeeds(d *model.Field) needs {
	g := callGraph{make(map[string]needs), make(map[string][]string)}
	e.addField(g, "", &model.Struct{}, d)
	n := g.own[""]
	for _, called := range g.calls[""] {
		n = n.or(e.needs[called])
	}
	return n
}

// fillsPlace reports whether the function that decodes a struct fills the struct at a pointer,
// instead of returning one. It does so if views are its source, if it takes more than a composite
// literal, and if the struct is only in lists that keep all elements.
func (e *emitter) fillsPlace(s *model.Struct) bool {
	if e.views == nil || s == e.pkg.Update || s.Keep != nil || e.isLiteral(s) {
		return false
	}
	for _, in := range e.structs() {
		for _, d := range in.Fields {
			if v, ok := d.Value.(model.StructOf); ok && v.Struct == s && (!d.List || d.Optional || d.Ref != "" || v.Any != nil) {
				return false
			}
		}
		for _, o := range in.Oneofs() {
			if slices.ContainsFunc(o.Cases, func(c *model.Case) bool { return c.Struct == s }) {
				return false
			}
		}
	}
	return true
}
