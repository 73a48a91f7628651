package model

import (
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
)

// RuleArgs are the arguments of a rule and the value that the rule is about. The methods
// report errors as diagnostics.
type RuleArgs struct {
	*builder
	*descriptor.Rule         // with the values of the keys
	Path             Path    // of the message
	Go               *GoPath // of fields of the update, in the place of Path; else nil
}

// Require reports an error in an argument unless ok. Then the rule is not built.
func (a *RuleArgs) Require(ok bool, at descriptor.Text, code diag.Code, format string, args ...any) {
	a.require(ok, at, code, format, args...)
}

// RequireRule is [RuleArgs.Require] for an error in the rule itself.
func (a *RuleArgs) RequireRule(ok bool, code diag.Code, text string) {
	a.require(ok, descriptor.Text{Pos: a.Pos}, code, "%s", text)
}

// Fits requires that the value fits the rule.
func (a *RuleArgs) Fits(ok bool, need string) {
	a.require(ok || a.Go == nil, a.At, diag.RuleShape, "the rule does not fit the Go field %s", a.At.Value)
	a.require(ok, a.At, diag.RuleShape, "the rule does not fit %s, which must be %s", a.At.Value, need)
}

// Class returns the class of the value, or of each element of a list. Among Go fields, it is NoClass for maps, enums and
// optional fields, and Any for oneofs and other pointers.
func (a *RuleArgs) Class() Class {
	if a.Go == nil {
		return a.Path.Class()
	}
	f := a.Go.Last()
	if c := f.Class(); c != Enumeration && !f.IsMap() && !f.Optional {
		return c
	}
	return NoClass
}

// IsNumber reports whether the value is a number or duration.
func (a *RuleArgs) IsNumber() bool { return a.Class().Number() || a.Class() == Duration }

// HasLen reports whether the value has a length.
func (a *RuleArgs) HasLen() bool {
	if a.Go != nil {
		return a.Go.Last().hasLen()
	}
	c := a.Path.Class()
	return a.Path.ToList() || c == Map || c == String || c == Bytes
}

// LenClass is the class of a value with a length: String and Bytes have bytes, all others have elements.
func (a *RuleArgs) LenClass() Class {
	switch {
	case a.Go != nil:
		return a.Go.Last().ZeroClass()
	case a.Path.ToList():
		return Map
	}
	return a.Path.Class()
}

// Literals returns the values of a key, which are of the value's class.
func (a *RuleArgs) Literals(key string) []Literal {
	var enum *protogen.Enum
	if a.Go == nil {
		enum = a.Path.Leaf().Enum
	}
	var out []Literal
	each(a.List(key), func(t descriptor.Text) {
		l := a.literal(t, a.Class(), enum, diag.UnknownValue)
		a.require(!slices.ContainsFunc(out, l.same), t, diag.BadValue, "value %s is listed twice", t.Value)
		out = append(out, l)
	})
	return out
}

// Literal returns the value of a key, which is of the class. It is nil where it was not written.
func (a *RuleArgs) Literal(key string, class Class) *Literal {
	t := a.Arg(key)
	if !t.Given() {
		return nil
	}
	l := a.literal(t, class, nil, diag.UnknownValue)
	return &l
}

// Bounds returns `min` and `max`, nil where they were not written.
func (a *RuleArgs) Bounds(class Class) (lo, hi *Literal) {
	lo = a.Literal("min", class)
	a.require(lo == nil || lo.Value != uint64(0), a.Arg("min"), diag.BadValue,
		"min = 0 has no effect: every %s is at least 0", strings.TrimPrefix(class.String(), "a "))
	hi = a.Literal("max", class)
	if lo != nil && hi != nil {
		a.require(!lo.above(*hi), a.Arg("min"), diag.BadValue, "min = %s is above max = %s", lo.Text, hi.Text)
	}
	return lo, hi
}

// Size returns the value of a key of the kind KindSize, or otherwise where it was not written.
func (a *RuleArgs) Size(key string, otherwise int) int {
	if n, err := strconv.Atoi(a.Arg(key).Value); err == nil {
		return n
	}
	return otherwise
}

// Paths resolves the paths of a key in the message that the rule is about, and checks each.
func (a *RuleArgs) Paths(key string, fits func(Path) bool, need string) []Path {
	return a.pathsIn(a.Path.Message(), key, fits, need)
}

// Siblings resolves the paths of a key in the message that has the field, and checks each. It notes that
// the code tests whether there are values.
func (a *RuleArgs) Siblings(key string, fits func(Path) bool, need string) []Path {
	paths := a.pathsIn(a.Path.Parent().Message(), key, fits, need)
	a.MarkPresence(paths)
	return paths
}

func (a *RuleArgs) pathsIn(m *protogen.Message, key string, fits func(Path) bool, need string) []Path {
	paths := a.inner(a.List(key), m, fits, need)
	for _, p := range paths {
		a.pkg.Uses.read(p)
	}
	a.once(a.List(key))
	return paths
}

// MarkPresence notes that the code of the rule tests whether there are values at paths.
func (a *RuleArgs) MarkPresence(paths []Path) {
	for _, p := range paths {
		a.pkg.Uses.presence(p)
	}
}

// MarkWhole notes that the code of the rule takes the message as a whole.
func (a *RuleArgs) MarkWhole() { a.pkg.Uses.hooked(a.Path.Message()) }

// Once requires that the values of a key are different.
func (a *RuleArgs) Once(key string) { a.once(a.List(key)) }

// GoFields resolves the names in a key as fields of the element's struct that == compares. There are none if one
// of them does not fit.
func (a *RuleArgs) GoFields(key string) []*Field {
	var out []*Field
	for _, t := range a.List(key) {
		v, ok := a.Go.Last().Value.(StructOf)
		if !ok {
			return nil
		}
		p := a.goPath(t, v.Struct)
		if len(p.Steps) > 1 || !p.Last().Comparable() {
			return nil
		}
		out = append(out, p.Last())
	}
	return out
}

// IsKey reports whether the value at p can be compared with others.
func IsKey(p Path) bool { return p.Class().Key() && !p.ToList() }

// inner resolves paths in one message, and checks each.
func (b *builder) inner(texts []descriptor.Text, m *protogen.Message, fits func(Path) bool, need string) []Path {
	paths := make([]Path, 0, len(texts))
	for _, t := range texts {
		p := b.fieldPath(t, m)
		b.single(t, p)
		b.require(fits(p), t, diag.RuleShape, "%s is %s, but must be %s", t.Value, p.Class(), need)
		paths = append(paths, p)
	}
	return paths
}

// once checks that no two of the texts are the same.
func (b *builder) once(texts []descriptor.Text) {
	seen := make(map[string]bool)
	each(texts, func(t descriptor.Text) {
		b.require(!seen[t.Value], t, diag.BadValue, "%s is listed twice", t.Value)
		seen[t.Value] = true
	})
}
