package model

import (
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"

	"github.com/xdsforge/xdsforge/gen/descriptor"
	"github.com/xdsforge/xdsforge/gen/diag"
)

// uniqueKeys are the paths that `unique` states; none for `true`.
func uniqueKeys(d *descriptor.Rule) []descriptor.Text {
	if len(d.Unique) == 1 && d.Unique[0].Tag == "!!bool" {
		return nil
	}
	return d.Unique
}

// ruleArguments resolves what a kind of rule is given.
func (b *builder) ruleArguments(c *Check, d *descriptor.Rule) bool {
	m := c.Path.Message()
	ok := true
	switch c.Kind {
	case In, NotIn:
		c.Values, ok = b.literals(append(slices.Clone(d.In), d.NotIn...), c.Path)
	case Range:
		c.Min, c.Max, ok = b.bounds(d, c.Path.Class())
	case Length:
		c.MinLen, c.MaxLen = lengths(d)
	case OneOf:
		c.Members, ok = b.inner(d.OneOf, m, func(Path) bool { return true }, "")
	case AnyType:
		for _, t := range d.AnyType {
			c.Types = append(c.Types, t.Value)
		}
	case Unique:
		c.Keys, ok = b.inner(uniqueKeys(d), m, isKey, "a scalar")
	case Sum:
		c.Min, c.Max, ok = b.bounds(d, Uint64)
		sums, fine := b.inner([]descriptor.Text{d.Sum}, m, func(p Path) bool { return p.Class() == Uint32 && !p.ToList() }, "a uint32")
		if ok = ok && fine; !ok {
			return false
		}
		c.Sum = sums[0]
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

func (b *builder) literals(texts []descriptor.Text, p Path) ([]Literal, bool) {
	return b.literalsOf(texts, p.Class(), p.Leaf().Enum)
}

func (b *builder) literalsOf(texts []descriptor.Text, class Class, enum *protogen.Enum) ([]Literal, bool) {
	out := make([]Literal, len(texts))
	ok := true
	for i, t := range texts {
		l, fine := b.literal(t, class, enum, diag.UnknownValue)
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
	return lo, hi, ok
}

func lengths(d *descriptor.Rule) (lo, hi int) {
	hi = -1
	if d.MaxLen.Given() {
		hi, _ = strconv.Atoi(d.MaxLen.Value)
	}
	lo, _ = strconv.Atoi(strings.TrimSpace(d.MinLen.Value))
	return lo, hi
}
