package model

import (
	"slices"
	"strconv"

	"google.golang.org/protobuf/compiler/protogen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
)

// uniqueKeys are the paths that `unique` states; none for `true`.
func uniqueKeys(d *descriptor.Rule) []descriptor.Text {
	if len(d.Unique) == 1 && d.Unique[0].Tag == "!!bool" {
		return nil
	}
	return d.Unique
}

// ruleArguments resolves the arguments of a kind of rule.
func (b *builder) ruleArguments(c *Check, d *descriptor.Rule) bool {
	m := c.Path.Message()
	ok := true
	switch c.Kind {
	case Compare:
		c.Compare = d.Values[0].Kind.Name
		c.Values, ok = b.literalsOf(d.Values[0].Values, c.Path.Class(), c.Path.Leaf().Enum)
	case Range:
		c.Min, c.Max, ok = b.bounds(d, c.Path.Class())
	case Length:
		c.MinLen, c.MaxLen, ok = b.lengths(d)
	case OneOf:
		c.Members, ok = b.inner(d.OneOf, m, func(Path) bool { return true }, "")
		ok = b.once(d.OneOf) && ok
	case AnyType:
		for _, t := range d.AnyType {
			c.Types = append(c.Types, t.Value)
		}
		ok = b.once(d.AnyType)
	case Unique:
		c.Keys, ok = b.inner(uniqueKeys(d), m, isKey, "a scalar")
		ok = b.once(d.Unique) && ok
	case Sum:
		c.Min, c.Max, ok = b.bounds(d, Uint64)
		sums, fine := b.inner([]descriptor.Text{d.Sum}, m, func(p Path) bool { return p.Class() == Uint32 && !p.ToList() }, "a uint32")
		if ok = ok && fine; !ok {
			return false
		}
		c.Sum = sums[0]
		if d.Default.Given() {
			if !c.Sum.Wrapper() {
				b.bag.Add(d.Default.Pos, diag.RuleShape, "the absence of %s cannot be told from 0, so that its sum has no default", d.Sum.Value)
				return false
			}
			l, fine := b.literal(d.Default, Uint32, nil, diag.UnknownValue)
			if !fine {
				return false
			}
			c.Absent = &l
		}
		if d.GroupBy.Given() {
			var groups []Path
			if groups, ok = b.inner([]descriptor.Text{d.GroupBy}, m, isKey, "a scalar"); ok {
				c.GroupBy = &groups[0]
			}
		}
	default:
	}
	return ok
}

// isKey reports whether values at p can be compared with each other.
func isKey(p Path) bool {
	return p.Class().Key() && !p.ToList()
}

// inner resolves paths in one message, and checks each.
func (b *builder) inner(texts []descriptor.Text, m *protogen.Message, fits func(Path) bool, what string) ([]Path, bool) {
	var paths []Path
	for _, t := range texts {
		p, ok := b.fieldPath(t, m)
		if !ok || !b.single(t, p) {
			return nil, false
		}
		if !fits(p) {
			b.bag.Add(t.Pos, diag.RuleShape, "%s is %s, and must be %s", t.Value, p.Class(), what)
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
			b.bag.Add(t.Pos, diag.BadValue, "%s is there twice", t.Value)
			ok = false
		}
	}
	return ok
}

// operand reports whether a kind of comparison accepts values of the class, and describes
// the values that it accepts.
func operand(k descriptor.ValueKind, class Class) (ok bool, what string) {
	if k.Takes == descriptor.Texts {
		return class == String, k.Takes.String()
	}
	return class.Key(), k.Takes.String()
}

func (b *builder) literalsOf(texts []descriptor.Text, class Class, enum *protogen.Enum) ([]Literal, bool) {
	out := make([]Literal, len(texts))
	ok := true
	for i, t := range texts {
		l, fine := b.literal(t, class, enum, diag.UnknownValue)
		if fine && slices.ContainsFunc(out[:i], l.same) {
			b.bag.Add(t.Pos, diag.BadValue, "value %s is there twice", t.Value)
			fine = false
		}
		ok = ok && fine
		out[i] = l
	}
	return out, ok
}

func (b *builder) bounds(d *descriptor.Rule, class Class) (lo, hi *Literal, ok bool) {
	ok = true
	for _, side := range []struct {
		text descriptor.Text
		into **Literal
	}{{d.Min, &lo}, {d.Max, &hi}} {
		if side.text.Given() {
			l, fine := b.literal(side.text, class, nil, diag.UnknownValue)
			if l.Value == uint64(0) && side.into == &lo {
				b.bag.Add(side.text.Pos, diag.BadValue, "min = 0 says nothing: every %s is at least that", class.name())
				fine = false
			}
			*side.into, ok = &l, ok && fine
		}
	}
	if ok && lo != nil && hi != nil && lo.above(*hi) {
		b.bag.Add(d.Min.Pos, diag.BadValue, "min = %s is above max = %s", lo.Text, hi.Text)
		ok = false
	}
	return lo, hi, ok
}

// lengths reads `min_len`, 0 where there is none, and `max_len`, else -1.
func (b *builder) lengths(d *descriptor.Rule) (lo, hi int, ok bool) {
	hi = -1
	if d.MaxLen.Given() {
		hi, _ = strconv.Atoi(d.MaxLen.Value)
	}
	lo, _ = strconv.Atoi(d.MinLen.Value)
	switch {
	case d.MinLen.Given() && lo == 0:
		b.bag.Add(d.MinLen.Pos, diag.BadValue, "min_len = 0 says nothing: no length is below that")
		return lo, hi, false
	case d.MaxLen.Given() && lo > hi:
		b.bag.Add(d.MinLen.Pos, diag.BadValue, "min_len = %d is above max_len = %d", lo, hi)
		return lo, hi, false
	}
	return lo, hi, true
}
