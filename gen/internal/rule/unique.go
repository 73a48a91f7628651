package rule

import (
	"cmp"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/emit"
	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// Unique is the rule that no two values are equal.
func (kinds) Unique() model.RuleKind {
	return model.RuleKind{
		Keys: []descriptor.Key{
			{Name: "unique", Kind: descriptor.KindUnique, Group: "kind", Doc: "No two elements may be equal, or equal in all of these paths."},
			{Name: "across", Kind: descriptor.KindChoice, Choices: []string{"resource"}, With: []string{"unique"}, Doc: "`resource`: unique among all values that the path reaches, not only within one repeated field."},
		},
		Examples: []model.RuleExample{
			{Rule: "{at: parts, unique: [id, group]}", Wording: "must be unique by id, group"},
			{Rule: "{at: parts, unique: [id]}", Wording: "must be unique by id"},
			{Rule: "{at: parts.aliases, unique: true, across: resource}", Wording: "must be unique in the resource"},
		},
		GoFields: true,
		Build:    buildUnique,
	}
}

func buildUnique(a *model.RuleArgs) model.Rule {
	r := unique{across: a.Arg("across").Given()}
	byKeys := a.Arg("unique").Tag != "!!bool"
	if a.Go == nil {
		fits := a.Class().Key() && !a.Path.Wrapper()
		if byKeys {
			fits = a.Path.Message() != nil
		}
		a.Fits(fits && (a.Path.ToList() || r.across && a.Path.Many()), "repeated: a scalar, or a message if there are paths")
		if byKeys {
			r.keys = a.Paths("unique", model.IsKey, "a scalar")
		}
		return r
	}
	f := *a.Go.Last()
	a.Fits(!f.IsMap() && (f.List || r.across && a.Go.Many()), "")
	if byKeys {
		r.fields = a.GoFields("unique")
	}
	f.List = false
	a.Fits(len(r.fields) > 0 || !byKeys && f.Comparable(), "")
	a.Once("unique")
	return r
}

type unique struct {
	keys   []model.Path   // from an element; none: the elements themselves
	fields []*model.Field // the keys of a rule about Go fields
	across bool
}

// Reach implements [model.Rule].
func (r unique) Reach() model.Reach {
	if r.across {
		return model.ReachResource
	}
	return model.ReachField
}

// Wording implements [model.Rule].
func (r unique) Wording() string {
	text := "must be unique"
	if keys := append(emit.Texts(r.keys), slice.Map(r.fields, goPath)...); len(keys) > 0 {
		text += " by " + strings.Join(keys, ", ")
	}
	if r.across {
		text += " in the resource"
	}
	return text
}

// A uniqueKey is a value that identifies elements, alone or together with others.
type uniqueKey struct {
	path  string   // in violations, from an element; empty: the element itself
	name  string   // of a field, beside others
	typ   jen.Code // of the value
	value func(x jen.Code) jen.Code
	shown bool // a violation shows it
}

// Code implements [emit.Coder].
func (r unique) Code(f *emit.Func, c *model.Check, conds []jen.Code) []jen.Code {
	taken := make(model.Names) // a_b.c and a.b_c look alike
	keys := slice.Map(r.keys, func(p model.Path) uniqueKey {
		value := func(x jen.Code) jen.Code { return f.Scalar(f.Get(x, p), p) }
		return uniqueKey{p.String(), taken.Take(keyField(p)), f.ScalarType(p.Leaf()), value, true}
	})
	if len(keys) == 0 {
		keys = []uniqueKey{{typ: f.ScalarType(c.Path.Leaf()), value: func(x jen.Code) jen.Code { return x }, shown: true}}
	}
	decls, check := r.set(f, keys, c)
	return f.When(conds, append(decls, f.Each(c.Path, true, check)...))
}

// GoCode checks one slice, or the whole update.
func (r unique) GoCode(f *emit.Func, c *model.Check) []jen.Code {
	decls, check := r.set(f, r.goKeys(f, c), c)
	last := len(c.Go.Steps) - 1
	if r.across {
		last = 0
	}
	return f.GoEach(jen.Id("u"), c.Go.Steps[:last], f.Here(), true, func(x *jen.Statement, at emit.Place) []jen.Code {
		return append(decls, f.GoEach(x, c.Go.Steps[last:], at, true, check)...)
	})
}

// goKeys are the values that identify the elements: fields, or the elements themselves.
func (r unique) goKeys(f *emit.Func, c *model.Check) []uniqueKey {
	if len(r.fields) == 0 {
		text, element := "$", c.Go.Last().Value
		_, isStruct := element.(model.StructOf)
		if isStruct {
			text = "*$"
		}
		return []uniqueKey{{typ: f.ValueType(element), value: func(x jen.Code) jen.Code { return f.Src(text, x) }, shown: !isStruct}}
	}
	return slice.Map(r.fields, func(k *model.Field) uniqueKey {
		return uniqueKey{goPath(k), k.Name, f.GoType(k), func(x jen.Code) jen.Code { return f.Src("$.$", x, k.GoName()) }, true}
	})
}

// goPath is the path of a field in violations, from the struct that has it.
func goPath(f *model.Field) string { return cmp.Or(f.PathName(), f.Name) }

// set declares the set of the keys so far. check checks that the key of the element x is not
// in it, and adds the key. The path of a violation ends with a single key, so the text does not have it.
func (r unique) set(f *emit.Func, keys []uniqueKey, c *model.Check) (decls []jen.Code, check emit.Body) {
	name, key, violated := f.Variable("seen"), keys[0], *c
	if len(keys) > 1 {
		typ := f.Variable("key")
		fields := slice.Map(keys, func(k uniqueKey) jen.Code { return f.Src("$ $", k.name, k.typ) })
		decls = []jen.Code{f.Src("type $ struct {\n$\n}", typ, fields)}
		key = uniqueKey{typ: jen.Id(typ), value: func(x jen.Code) jen.Code {
			values := slice.Map(keys, func(k uniqueKey) jen.Code { return k.value(x) })
			return f.Src("$ {$}", typ, jen.List(values...))
		}}
	} else {
		violated.Rule = unique{across: r.across}
	}
	decls = append(decls, f.Src("var $ convert.Set[$]", name, key.typ))
	return decls, func(x *jen.Statement, at emit.Place) []jen.Code {
		value, shown := key.value(x), jen.Code(nil)
		if key.shown {
			shown = value
		}
		violation := f.Violation(at.Child(key.path), shown, emit.RuleText(&violated))
		return []jen.Code{f.If(nil, f.Src("$.Before($)", name, value), violation)}
	}
}

// keyField is the name of a path as a field of a key.
func keyField(p model.Path) string {
	names := strings.FieldsFunc(p.String(), func(r rune) bool { return r == '.' || r == '_' })
	for i := 1; i < len(names); i++ {
		names[i] = strings.ToUpper(names[i][:1]) + names[i][1:]
	}
	return strings.Join(names, "") + "_"
}

// Schema implements [schema.Value]. JSON Schema compares whole elements only.
func (r unique) Schema(model.Path) (valid map[string]any, zero bool) {
	if len(r.keys) > 0 || r.across {
		return nil, false
	}
	return map[string]any{"uniqueItems": true}, true
}
