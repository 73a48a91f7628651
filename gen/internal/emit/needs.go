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
)

// parameters are the names that Src finds in source.
var parameters = map[string]needs{"dc": needsContext, "p": needsPath, "v": needsViolations}

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

// A function has the parameters that its own code names, and the functions that it calls.
type function struct {
	own   needs
	calls []string
}

// findNeeds returns the parameters of every function that was written, by its name.
func (e *emitter) findNeeds() map[string]needs {
	all := make(map[string]needs)
	for name := range e.functions {
		all[name] = e.reach(name, make(map[string]bool))
	}
	return all
}

// reach returns the needs of a function and of all that it calls, directly or not.
func (e *emitter) reach(name string, seen map[string]bool) needs {
	if seen[name] {
		return 0
	}
	seen[name] = true
	n := e.functions[name].own
	for _, called := range e.functions[name].calls {
		n |= e.reach(called, seen)
	}
	return n
}

// uses notes that the code of the current function names a parameter.
func (e *emitter) uses(n needs) {
	if e.current != nil {
		e.current.own |= n
	}
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
