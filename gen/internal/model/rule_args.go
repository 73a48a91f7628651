package model

import (
	"slices"
	"strconv"

	"google.golang.org/protobuf/compiler/protogen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
)

// RuleArgs are the arguments of a rule and the value that the rule is about. The methods
// report errors as diagnostics.
type RuleArgs struct {
	*builder
	rule *descriptor.Rule
	Path Path    // of the message
	Go   *GoPath // of fields of the update, in the place of Path; else nil
}

// Arg returns the value of a key.
func (a *RuleArgs) Arg(key string) descriptor.Text { return a.rule.Arg(key) }

// List returns the values of a key.
func (a *RuleArgs) List(key string) []descriptor.Text { return a.rule.List(key) }

// Report reports an error in an argument.
func (a *RuleArgs) Report(at descriptor.Text, code diag.Code, format string, args ...any) {
	a.bag.Add(at.Pos, code, format, args...)
}

// ReportRule reports an error in the rule itself.
func (a *RuleArgs) ReportRule(code diag.Code, format string, args ...any) {
	a.bag.Add(a.rule.Pos, code, format, args...)
}

// Fits reports whether the value fits the rule. If not, it reports an error.
func (a *RuleArgs) Fits(ok bool, need string) bool {
	switch at := a.rule.At; {
	case ok:
	case a.Go != nil:
		a.bag.Add(at.Pos, diag.RuleShape, "the rule does not fit the Go field %s", at.Value)
	default:
		a.bag.Add(at.Pos, diag.RuleShape, "the rule does not fit %s, which must be %s", at.Value, need)
	}
	return ok
}

// Class returns the class of the value, or of each element of a list. It is NoClass for maps,
// enums and pointers among Go fields.
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

// Elements reports whether a length of the value counts elements and not bytes.
func (a *RuleArgs) Elements() bool {
	if a.Go != nil {
		f := a.Go.Last()
		return f.List || f.IsMap() || f.Class() != String && f.Class() != Bytes
	}
	return a.Path.ToList() || a.Path.Class() == Map
}

// Literals returns the values of a key, which are of the value's class.
func (a *RuleArgs) Literals(key string) ([]Literal, bool) {
	var enum *protogen.Enum
	if a.Go == nil {
		enum = a.Path.Leaf().Enum
	}
	texts := a.List(key)
	out := make([]Literal, len(texts))
	ok := true
	for i, t := range texts {
		l, fine := a.literal(t, a.Class(), enum, diag.UnknownValue)
		if fine && slices.ContainsFunc(out[:i], l.same) {
			a.Report(t, diag.BadValue, "value %s is listed twice", t.Value)
			fine = false
		}
		ok = ok && fine
		out[i] = l
	}
	return out, ok
}

// Literal returns the value of a key, which is of the class. It is nil where it was not written.
func (a *RuleArgs) Literal(key string, class Class) (*Literal, bool) {
	t := a.Arg(key)
	if !t.Given() {
		return nil, true
	}
	l, ok := a.literal(t, class, nil, diag.UnknownValue)
	return &l, ok
}

// Bounds returns `min` and `max`, nil where they were not written.
func (a *RuleArgs) Bounds(class Class) (lo, hi *Literal, ok bool) {
	lo, fine := a.Literal("min", class)
	if fine && lo != nil && lo.Value == uint64(0) {
		a.Report(a.Arg("min"), diag.BadValue, "min = 0 has no effect: every %s is at least 0", class.name())
		fine = false
	}
	hi, ok = a.Literal("max", class)
	if ok = ok && fine; ok && lo != nil && hi != nil && lo.above(*hi) {
		a.Report(a.Arg("min"), diag.BadValue, "min = %s is above max = %s", lo.Text, hi.Text)
		ok = false
	}
	return lo, hi, ok
}

// Size returns the value of a key of the kind KindSize, or otherwise where it was not written.
func (a *RuleArgs) Size(key string, otherwise int) int {
	if n, err := strconv.Atoi(a.Arg(key).Value); err == nil {
		return n
	}
	return otherwise
}

// Paths resolves the paths of a key in the message that the rule is about, and checks each.
func (a *RuleArgs) Paths(key string, fits func(Path) bool, need string) ([]Path, bool) {
	return a.pathsIn(a.Path.Message(), key, fits, need)
}

// Siblings resolves the paths of a key in the message that has the field, and checks each. It notes that
// the code tests whether there are values.
func (a *RuleArgs) Siblings(key string, fits func(Path) bool, need string) ([]Path, bool) {
	paths, ok := a.pathsIn(a.Path.Parent().Message(), key, fits, need)
	a.MarkPresence(paths)
	return paths, ok
}

func (a *RuleArgs) pathsIn(m *protogen.Message, key string, fits func(Path) bool, need string) ([]Path, bool) {
	paths, ok := a.inner(a.List(key), m, fits, need)
	for _, p := range paths {
		a.pkg.Uses.read(p)
	}
	return paths, a.once(a.List(key)) && ok
}

// MarkPresence notes that the code of the rule tests whether there are values at paths.
func (a *RuleArgs) MarkPresence(paths []Path) {
	for _, p := range paths {
		a.pkg.Uses.presence(p)
	}
}

// MarkWhole notes that the code of the rule takes the message as a whole.
func (a *RuleArgs) MarkWhole() { a.pkg.Uses.hooked(a.Path.Message()) }

// Once reports whether the values of a key are different.
func (a *RuleArgs) Once(key string) bool { return a.once(a.List(key)) }

// GoFields resolves the names in a key as fields of the element's struct that == compares.
func (a *RuleArgs) GoFields(key string) ([]*Field, bool) {
	v, ok := a.Go.Last().Value.(StructOf)
	var out []*Field
	for _, t := range a.List(key) {
		if !ok {
			return nil, false
		}
		p, fine := a.goPath(t, v.Struct)
		if ok = fine && len(p.Steps) == 1 && p.Last().Comparable(); ok {
			out = append(out, p.Last())
		}
	}
	return out, ok
}

// IsKey reports whether the value at p can be compared with others.
func IsKey(p Path) bool { return p.Class().Key() && !p.ToList() }

// inner resolves paths in one message, and checks each.
func (b *builder) inner(texts []descriptor.Text, m *protogen.Message, fits func(Path) bool, need string) ([]Path, bool) {
	var paths []Path
	for _, t := range texts {
		p, ok := b.fieldPath(t, m)
		if !ok || !b.single(t, p) {
			return nil, false
		}
		if !fits(p) {
			b.bag.Add(t.Pos, diag.RuleShape, "%s is %s, but must be %s", t.Value, p.Class(), need)
			return nil, false
		}
		paths = append(paths, p)
	}
	return paths, true
}

// once checks that no two of the texts are the same.
func (b *builder) once(texts []descriptor.Text) bool {
	ok := true
	for i, t := range texts {
		if slices.ContainsFunc(texts[:i], func(o descriptor.Text) bool { return o.Value == t.Value }) {
			b.bag.Add(t.Pos, diag.BadValue, "%s is listed twice", t.Value)
			ok = false
		}
	}
	return ok
}
