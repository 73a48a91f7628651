package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// presenceCheck writes Required and Unset.
func (f *fn) presenceCheck(m jen.Code, c *model.Check, at place, conds []jen.Code) []jen.Code {
	var shown jen.Code
	class := c.Path.Class()
	scalar := class.Scalar() && class != model.Bytes && !c.Path.Wrapper() && !c.Path.ToList()
	switch {
	case scalar && c.Kind == model.Unset:
		shown = f.get(m, c.Path)
	case scalar && class == model.String && !c.Path.Presence():
		shown = jen.Lit("")
	}
	broken := f.presence(m, c.Path, c.Kind == model.Unset)
	return []jen.Code{jen.If(and(append(conds, broken)...)).Block(f.violation(at, shown, rule(c)))}
}

// oneOfCheck writes OneOf. At most one member of a protobuf oneof is set, so the check only
// tests that one is.
func (f *fn) oneOfCheck(m jen.Code, c *model.Check, at place, conds []jen.Code) []jen.Code {
	x, init := m, jen.Code(nil)
	if len(c.Path.Steps) > 0 {
		x, init = jen.Id("x"), jen.Id("x").Op(":=").Add(f.get(m, c.Path))
		conds = f.condsOf(m, c.When, c.Path, x)
	}
	exclusive := true
	for _, p := range c.Members {
		first := c.Members[0]
		exclusive = exclusive && p.Leaf().Oneof != nil && p.Leaf().Oneof == first.Leaf().Oneof && p.Parent().String() == first.Parent().String()
	}
	var broken []jen.Code
	if exclusive || len(c.Members) == 1 {
		for _, p := range c.Members {
			broken = append(broken, f.presence(x, p, false))
		}
	} else {
		set := make([]jen.Code, len(c.Members))
		for i, p := range c.Members {
			set[i] = f.presence(x, p, true)
		}
		broken = []jen.Code{f.convert("Count").Call(set...).Op("!=").Lit(1)}
	}
	if init != nil && !statesPresence(c.When, c.Path) && slices.ContainsFunc(c.Members, f.readsStruct) {
		none := jen.Add(x).Op("==").Nil().Op("||").Add(and(broken...))
		if len(conds) > 0 {
			none = jen.Parens(none)
		}
		broken = []jen.Code{none}
	}
	body := f.violation(at, nil, rule(c))
	cond := and(append(conds, broken...)...)
	if init != nil {
		return []jen.Code{jen.If(init, cond).Block(body)}
	}
	return []jen.Code{jen.If(cond).Block(body)}
}

// statesPresence reports whether a condition says that there is a value at p.
func statesPresence(c model.Cond, p model.Path) bool {
	return slices.ContainsFunc(c.Tests, func(t model.Test) bool {
		return t.Kind == model.Present && t.Path.String() == p.String()
	})
}

// uniqueCheck writes Unique.
func (f *fn) uniqueCheck(m jen.Code, c *model.Check) []jen.Code {
	keys := make([]uniqueKey, len(c.Keys))
	if len(c.Keys) == 0 {
		keys = []uniqueKey{{typ: f.pathScalar(c.Path), value: func(x jen.Code) jen.Code { return x }, shown: true}}
	}
	taken := make(map[string]bool) // a_b.c and a.b_c look alike
	for i, p := range c.Keys {
		name := keyField(p)
		for n := 2; taken[name]; n++ {
			name = fmt.Sprint(keyField(p), n)
		}
		taken[name] = true
		keys[i] = uniqueKey{name, f.pathScalar(p), func(x jen.Code) jen.Code { return f.scalar(f.get(x, p), p) }, true}
	}
	code, broken := f.unique(keys, rule(c))
	return append(code, f.each(m, c.Path, f.here(), func(x jen.Code, at place) []jen.Code {
		if len(c.Keys) == 1 {
			at = at.below(c.Keys[0])
		}
		return broken(x, at)
	})...)
}

// A uniqueKey is a value that identifies elements, alone or together with others.
type uniqueKey struct {
	name  string // of a field, beside others
	typ   jen.Code
	value func(x jen.Code) jen.Code // of the element x
	shown bool                      // a violation shows it
}

// unique declares the set of the keys so far. broken checks that the key of the element x
// is not in it, and adds the key.
func (f *fn) unique(keys []uniqueKey, text string) (decls []jen.Code, broken func(x jen.Code, at place) []jen.Code) {
	seen, typ := f.variable("seen"), keys[0].typ
	value, show := keys[0].value, keys[0].shown
	if len(keys) > 1 {
		name := f.variable("key")
		fields := make([]jen.Code, len(keys))
		for i, k := range keys {
			fields[i] = jen.Id(k.name).Add(k.typ)
		}
		typ, decls = jen.Id(name), []jen.Code{jen.Type().Id(name).Struct(fields...)}
		value, show = func(x jen.Code) jen.Code {
			values := make([]jen.Code, len(keys))
			for i, k := range keys {
				values[i] = k.value(x)
			}
			return jen.Id(name).Values(values...)
		}, false
	}
	decls = append(decls, jen.Var().Id(seen).Add(f.convert("Seen")).Types(typ))
	return decls, func(x jen.Code, at place) []jen.Code {
		key, shown := value(x), jen.Code(nil)
		if show {
			shown = key
		}
		return []jen.Code{jen.If(jen.Id(seen).Dot("Before").Call(key)).Block(f.violation(at, shown, text))}
	}
}

// pathScalar is the Go type of the scalar, or of the one in the wrapper, at a
// path.
func (e *emitter) pathScalar(p model.Path) jen.Code {
	if p.Class() == model.Enumeration {
		return e.ident(p.Leaf().Enum.GoIdent)
	}
	return e.classType(p.Class())
}

// keyField is the name of a path as a field of a key.
func keyField(p model.Path) string {
	parts := strings.FieldsFunc(p.String(), func(r rune) bool { return r == '.' || r == '_' })
	for i := 1; i < len(parts); i++ {
		parts[i] = strings.ToUpper(parts[i][:1]) + parts[i][1:]
	}
	return strings.Join(parts, "") + "_"
}

// sumCheck writes Sum.
func (f *fn) sumCheck(m jen.Code, c *model.Check, at place) []jen.Code {
	number := func(x jen.Code) *jen.Statement { return f.scalar(f.get(x, c.Sum), c.Sum) }
	if c.GroupBy == nil {
		sum := f.variable("sum")
		loop := f.each(m, c.Path, f.here(), func(x jen.Code, _ place) []jen.Code {
			if c.Absent == nil {
				return []jen.Code{jen.Id(sum).Op("+=").Uint64().Call(number(x))}
			}
			w, absent := jen.Id("w"), jen.Id(sum).Op("+=").Add(f.literal(*c.Absent))
			if c.Absent.Text == "1" {
				absent = jen.Id(sum).Op("++")
			}
			return []jen.Code{jen.If(jen.Add(w).Op(":=").Add(f.get(x, c.Sum)), jen.Add(w).Op("!=").Nil()).Block(
				jen.Id(sum).Op("+=").Uint64().Call(f.scalar(w, c.Sum)),
			).Else().Block(absent)}
		})
		code := append([]jen.Code{jen.Var().Id(sum).Uint64()}, loop...)
		return append(code, jen.If(f.outside(jen.Id(sum), c.Min, c.Max, false)).Block(f.violation(at, jen.Id(sum), rule(c))))
	}
	sums := f.variable("sums")
	loop := f.each(m, c.Path, f.here(), func(x jen.Code, at place) []jen.Code {
		group := f.scalar(f.get(x, *c.GroupBy), *c.GroupBy)
		value := number(x)
		if c.Absent != nil {
			value = f.convert("Or").Call(f.get(x, c.Sum), f.literal(*c.Absent))
		}
		return []jen.Code{jen.If(
			jen.Id("sum").Op(":=").Id(sums).Dot("Add").Call(group, value),
			f.outside(jen.Id("sum"), nil, c.Max, false),
		).Block(f.violation(at, jen.Id("sum"), rule(c)))}
	})
	decl := jen.Var().Id(sums).Add(f.convert("Sums")).Types(f.pathScalar(*c.GroupBy))
	return append([]jen.Code{decl}, loop...)
}

// callCheck calls a validate hook, unless there is no message for it.
func (f *fn) callCheck(m jen.Code, c *model.Check) []jen.Code {
	return f.each(m, c.Path, f.here(), func(x jen.Code, at place) []jen.Code {
		args := []jen.Code{f.dc(), f.path(at)}
		for _, p := range c.Needs {
			args = append(args, f.asked(x, p))
		}
		switch {
		case len(c.Needs) > 0:
		case f.isLate(c):
			args = append(args, jen.Add(x).Dot("message"))
		default:
			args = append(args, f.askedMessage(x, c.Path.Message()))
		}
		return []jen.Code{jen.Id(c.Hook).Call(append(args, f.v())...)}
	})
}
