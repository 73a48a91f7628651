package model

import (
	"google.golang.org/protobuf/compiler/protogen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
)

// RuleKind is a kind of rule.
type RuleKind int

// The kinds.
const (
	Required RuleKind = iota
	Unset
	Compare // one of descriptor.ValueKinds
	Range
	Length
	Unique
	OneOf
	AnyType
	Sum
	Call // a validate hook
)

// Check is a rule whose path leads through no repeated field: the scope it
// stands in has gone through them.
type Check struct {
	Kind     RuleKind
	Path     Path // from the scope's message; empty: the message itself
	Elements bool // Path leads to a repeated field, and each element is looked at
	When     Cond // the conditions that remain to test in this scope
	Stated   Cond // the whole condition as it was stated
	Why      string

	Compare  string    // Compare: the name of its kind
	Values   []Literal // Compare
	Min, Max *Literal  // Range, Sum
	MinLen   int       // Length; 0: none
	MaxLen   int       // Length; -1: none
	Members  []Path    // OneOf; from the message at Path
	Keys     []Path    // Unique; from an element; none: the elements themselves
	Across   bool      // Unique among everything that Path leads to, through repeated fields
	Types    []string  // AnyType
	Sum      Path      // Sum; from an element
	Absent   *Literal  // Sum; the value of an absent wrapper; nil: 0
	GroupBy  *Path     // Sum; from an element
	Hook     string    // Call
	Needs    []Path    // Call; from the message at Path; none: that message
}

// Scope is the checks of one message, and those of the messages in its repeated
// fields.
type Scope struct {
	Message *protogen.Message
	Func    string // the name of the function that makes the checks
	Checks  []*Check
	Under   []*Under
}

// Under is a repeated message field whose elements are checked.
type Under struct {
	When  Cond // on the message that has the field
	Path  Path // ends with the repeated field
	Scope *Scope
}

// rules builds the rules and validate hooks of s.
func (b *builder) rules(s *Struct, rules []descriptor.Rule, hooks []descriptor.Hook) {
	root := &Scope{Message: s.Message}
	for i := range rules {
		d := &rules[i]
		kind, ok := b.ruleKind(d)
		switch {
		case !ok:
		case isGoPath(d.At.Value):
			b.goRule(s, d, kind)
		default:
			b.rule(root, d, kind)
		}
	}
	for i := range hooks {
		b.validateHook(root, &hooks[i])
	}
	if len(root.Checks)+len(root.Under) > 0 {
		s.Rules = root
	}
}

// ruleKind finds the one kind that a rule has.
func (b *builder) ruleKind(d *descriptor.Rule) (RuleKind, bool) {
	var kinds []RuleKind
	for _, k := range []struct {
		kind  RuleKind
		given bool
	}{
		{Required, d.Required.Line > 0},
		{Unset, d.Unset.Line > 0},
		{Compare, len(d.Values) > 0},
		{Range, (d.Min.Given() || d.Max.Given()) && !d.Sum.Given()},
		{Length, d.MinLen.Given() || d.MaxLen.Given()},
		{Unique, len(d.Unique) > 0},
		{OneOf, len(d.OneOf) > 0},
		{AnyType, len(d.AnyType) > 0},
		{Sum, d.Sum.Given()},
	} {
		if k.given {
			kinds = append(kinds, k.kind)
		}
	}
	switch {
	case len(kinds) == 0:
		b.bag.Add(d.Pos, diag.RuleKind, "the rule says nothing: it needs a kind, as `required: true`")
		return 0, false
	case len(kinds) > 1:
		b.bag.AddHint(d.Pos, diag.RuleKind, "make it two rules", "the rule has more than one kind")
		return 0, false
	case kinds[0] == Sum && !d.Min.Given() && !d.Max.Given():
		b.bag.Add(d.Pos, diag.RuleKind, "the sum has neither `min` nor `max`")
		return 0, false
	case d.Min.Given() && d.GroupBy.Given():
		b.bag.Add(d.Min.Pos, diag.RuleKind, "sums of groups can have a `max` only")
		return 0, false
	case !d.At.Given() && kinds[0] != OneOf:
		b.bag.Add(d.Pos, diag.MissingKey, "the rule has no key \"at\"")
		return 0, false
	}
	return kinds[0], true
}

// rule builds one rule about the message.
func (b *builder) rule(root *Scope, d *descriptor.Rule, kind RuleKind) {
	p := Path{From: root.Message}
	if d.At.Given() {
		var ok bool
		if p, ok = b.path(d.At, root.Message); !ok {
			return
		}
	}
	c := &Check{Kind: kind, Path: p, Why: d.Why.Value, MaxLen: -1, Across: d.Across.Given()}
	if !b.fits(c, d) || !b.ruleArguments(c, d) {
		return
	}
	tests, context, ok := b.cond(d.When, root.Message)
	if !ok {
		return
	}
	enter := 0
	if !c.Across {
		enter = repeatedSteps(p)
		if p.ToList() && kind != OneOf {
			enter--
		}
		c.Elements = p.ToList() && (kind == Compare || kind == Range || kind == AnyType)
	}
	b.place(root, c, enter, tests, context)
}

// fits checks that the kind of rule fits the value at its path.
func (b *builder) fits(c *Check, d *descriptor.Rule) bool {
	p, class := c.Path, c.Path.Class()
	ok, what := true, ""
	switch c.Kind {
	case Compare:
		ok, what = operand(d.Values[0].Kind, class)
	case Range:
		ok, what = class.Number() || class == Duration, "a number or Duration"
	case Length:
		ok, what = p.ToList() || class == Map || class == String || class == Bytes, "repeated, a map, a string or bytes"
	case Unique:
		element := class.Key() && !p.Wrapper()
		if len(uniqueKeys(d)) > 0 {
			element = p.Message() != nil
		}
		ok, what = element && (p.ToList() || c.Across && p.Many()), "repeated: a scalar, or a message where paths are given"
	case OneOf:
		ok, what = p.Message() != nil && class == Message, "a message"
	case AnyType:
		ok, what = class == Any, "an Any"
	case Sum:
		ok, what = p.ToList() && p.Message() != nil, "a repeated message"
	default:
	}
	if ok && p.Oneof() != nil && c.Kind != Required && c.Kind != Unset {
		ok, what = false, "a field; of a oneof there are only `required` and `unset`"
	}
	if !ok {
		b.bag.Add(d.At.Pos, diag.RuleShape, "the rule does not fit %s, which must be %s", d.At.Value, what)
	}
	return ok
}
