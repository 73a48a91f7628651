package emit

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// needs are the parameters of a generated function, in their order.
type needs uint8

const (
	needsContext needs = 1 << iota
	needsMeta
	needsPath
	needsValue // that the function reads: all do
	needsViolations

	reports = needsPath | needsViolations // of a function that adds a violation
)

// when is n under a condition.
func (n needs) when(cond bool) needs {
	if cond {
		return n
	}
	return 0
}

// list has those of the parameters or arguments of a function that it needs.
func (n needs) list(dc, meta, path, value, violations jen.Code) []jen.Code {
	var out []jen.Code
	for i, code := range []jen.Code{dc, meta, path, value, violations} {
		if (n|needsValue)&(1<<i) != 0 {
			out = append(out, code)
		}
	}
	return out
}

// A callGraph has the functions that decode and validate, by their names.
type callGraph map[string]function

// A function needs parameters for its own code, and those that the functions need which it calls.
type function struct {
	own   needs
	calls []string
}

func (g callGraph) add(name string, n needs, calls ...string) {
	f := g[name]
	g[name] = function{f.own | n, append(f.calls, calls...)}
}

// reach returns the needs of a function and of all that it calls, directly or not.
func (g callGraph) reach(name string, seen map[string]bool) needs {
	n := g[name].own
	seen[name] = true
	for _, called := range g[name].calls {
		if !seen[called] {
			n |= g.reach(called, seen)
		}
	}
	return n
}

// findNeeds returns the parameters of every function, by its name.
func (e *emitter) findNeeds() map[string]needs {
	g := make(callGraph)
	for _, s := range e.pkg.All() {
		name := e.decodeName(s)
		for _, d := range s.Fields {
			e.addField(g, name, s, d)
		}
		g.add(name, needsContext.when(s.Keep != nil && s.Keep.Profile != "" || s.Stop != nil && s.Stop.Profile != ""))
		for _, rules := range s.Rules.All() {
			addScope(g, rules)
		}
		if s.Rules != nil && s != e.pkg.Update {
			g.add(name, 0, s.Rules.Func)
		}
	}
	if len(e.pkg.GoChecks) > 0 {
		addScope(g, &model.Scope{Func: "validateUpdate", Checks: e.pkg.GoChecks})
	}
	all := make(map[string]needs)
	for name := range g {
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

// addField adds the needs and the calls of the code for one field of a struct.
func (e *emitter) addField(g callGraph, name string, s *model.Struct, d *model.Field) {
	fn, _ := e.arena(d, s.Message)
	g.add(name, needsContext.when(!d.When.Context.Empty() || d.SelfName || fn != "" && d.List && hasLength(d.Paths)))
	g.add(name, (needsContext | needsMeta | reports).when(d.Ref != ""))
	switch v := d.Value.(type) {
	case model.Plain:
		g.add(name, reports.when(v.Class == model.Duration || v.Class == model.Timestamp))
	case model.Converted:
		own := v.Conversion.Func != ""
		g.add(name, reports.when(own)|needsContext.when(!own || v.Conversion.Context))
	case model.EnumOf:
		g.add(name, reports.when(v.Enum.Otherwise == nil))
	case model.StructOf:
		g.add(name, (needsContext | reports).when(v.Any != nil), e.decodeName(v.Struct))
	case model.OneofOf:
		g.add(name, 0, "decode"+v.Oneof.Name)
		e.addOneof(g, v.Oneof)
	case model.InlineOf:
		g.add(name, needsContext|needsMeta|reports)
	case model.HookOf:
		g.add(name, needsContext|reports)
	}
}

func (e *emitter) addOneof(g callGraph, o *model.Oneof) {
	name := "decode" + o.Name
	g.add(name, 0)
	for _, c := range o.Cases {
		g.add(name, needsContext.when(!c.When.Context.Empty())|(needsContext|reports).when(c.Any != nil || c.Hook != nil))
		if c.Struct != nil {
			g.add(name, 0, e.decodeName(c.Struct))
		}
	}
}

func addScope(g callGraph, s *model.Scope) {
	g.add(s.Func, 0)
	for _, c := range s.Checks {
		g.add(s.Func, reports|needsContext.when(!c.When.Context.Empty() || usesContext(c.Rule)))
	}
	for _, u := range s.Under {
		g.add(s.Func, needsContext.when(!u.When.Context.Empty()), u.Scope.Func)
	}
}

// fieldNeeds are the parameters that the code of one field needs.
func (e *emitter) fieldNeeds(d *model.Field) needs {
	g := make(callGraph)
	e.addField(g, "", new(model.Struct), d)
	n := g[""].own
	for _, called := range g[""].calls {
		n |= e.needs[called]
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
	for _, in := range e.pkg.All() {
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
