package model

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"

	"github.com/xdsforge/xdsforge/gen/internal/annotation"
	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// RuleKind is a kind of rule. Package rule has one file for each.
type RuleKind struct {
	// Keys select the kind. They are not in Group "kind" if several may be written.
	Keys []descriptor.Key
	// Takes are keys of other kinds that are arguments of this kind as well.
	Takes []string
	// Message is true if the rule is about a message: `at` may be left out.
	Message bool
	// GoFields is true if the rule may be about fields of the update.
	GoFields bool
	// Examples are rules about fields of the message xdsforge.test.v1.Thing. Together they
	// have all keys. The first one is in the reference.
	Examples []RuleExample
	// Build checks that a rule fits its value and resolves its arguments.
	Build func(a *RuleArgs) Rule
}

// Rules are the kinds of rules, and a function that parses a rule which is derived.
type Rules struct {
	Kinds []RuleKind
	Parse func(text string, at diag.Pos, bag *diag.Bag) descriptor.Rule
}

// RuleExample is a rule and its wording.
type RuleExample struct{ Rule, Wording string }

// Rule is one built rule. Package emit has interfaces for its code.
type Rule interface {
	// Wording is the text of a violation, without condition and reason.
	Wording() string
	Reach() Reach
}

// Reach is the range of values that one check of a rule covers.
type Reach int

// The ranges.
const (
	ReachField    Reach = iota // one value, which is a whole list where the field is repeated
	ReachElement               // one value, which is an element where the field is repeated
	ReachMessage               // one message, which is an element where the field is repeated
	ReachResource              // all values of the path in the resource
)

// Check is a rule at a path that goes through no repeated field, except with ReachResource.
// It belongs to the scope of the message where its path starts. A rule about the fields of the update
// has a path of Go fields instead.
type Check struct {
	Rule     Rule // nil: a validate hook is called
	Hook     Hook // the hook, which needs values of the message at Path
	Path     Path // from the scope's message; empty: the message itself
	Go       GoPath
	Elements bool // the path leads to a list, and each element is checked
	When     Cond // the conditions that remain to test in this scope
	Stated   Cond // the whole condition as the descriptor states it
	Why      string
}

// Scope is the checks of one message, and those of the messages in its repeated
// fields.
type Scope struct {
	Message *protogen.Message
	Func    string // the name of the function that makes the checks
	Checks  []*Check
	Under   []*Under
}

// All returns the scope and those in it, each before those in it. There are none if s is nil.
func (s *Scope) All() []*Scope {
	if s == nil {
		return nil
	}
	return append([]*Scope{s}, slice.FlatMap(s.Under, func(u *Under) []*Scope { return u.Scope.All() })...)
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
	b.drift(s.Message, rules)
	rules = b.derived(s.Message, rules)
	for i := range rules {
		d := &rules[i]
		b.ofAnnotation(s.Message, d, func() {
			if isGoPath(d.At.Value) {
				b.goRule(s, d, b.ruleKind(d))
			} else {
				b.rule(root, d, b.ruleKind(d))
			}
		})
	}
	for i := range hooks {
		try(func() { b.validateHook(root, &hooks[i]) })
	}
	if len(root.Checks)+len(root.Under) > 0 {
		s.Rules = root
	}
}

// derived replaces `from: annotations` by the rules of the message's annotations.
func (b *builder) derived(m *protogen.Message, rules []descriptor.Rule) []descriptor.Rule {
	var out []descriptor.Rule
	for _, d := range rules {
		if !d.From.Given() {
			out = append(out, d)
			continue
		}
		if d.At.Given() || d.When != nil {
			b.bag.Add(d.Pos, diag.Conflict, "the rules of annotations have paths and conditions of their own")
		}
		from, unexpressed := b.annotations(m, d.From.Pos, annotation.AllDepth)
		if len(from) == 0 {
			hint := ""
			if len(unexpressed) > 0 {
				hint = "remove it, and check by hooks: " + unexpressed[0].Comment
			}
			b.bag.AddHint(d.From.Pos, diag.RuleKind, hint, "%s has no annotations that become rules", Short(m))
		}
		b.unexpressed(&d, unexpressed)
		out = append(out, from...)
	}
	return out
}

// unexpressed warns about annotations that no rule expresses, unless the rule names their paths.
func (b *builder) unexpressed(d *descriptor.Rule, rules []annotation.Rule) {
	at := make(map[string]int) // the number of annotations at each path
	for _, r := range rules {
		at[r.At]++
	}
	for _, r := range rules {
		known := slices.ContainsFunc(d.Unexpressed, func(t descriptor.Text) bool { return t.Value == r.At })
		if n := at[r.At]; !known && n > 0 {
			at[r.At] = 0
			text := fmt.Sprintf("no rule expresses the annotation %s: %s", r.Origin, r.Comment)
			if n > 1 {
				text += fmt.Sprintf(" (xdsgen explain lists all %d at this path)", n)
			}
			b.bag.Warn(d.From.Pos, diag.Unexpressed, "%s; check it by a hook or accept that nothing does, and add %s to `unexpressed`", text, r.At)
		}
	}
	for _, t := range d.Unexpressed {
		if !slices.ContainsFunc(rules, func(r annotation.Rule) bool { return t.Value == r.At }) {
			b.bag.Warn(t.Pos, diag.Unexpressed, "rules express all annotations at %s; remove it from `unexpressed`", t.Value)
		}
	}
}

// ofAnnotation builds a rule. If it is of an annotation and does not fit the message, the errors name the annotation.
func (b *builder) ofAnnotation(m *protogen.Message, d *descriptor.Rule, build func()) {
	if d.Origin == "" && !annotation.Reason(d.Why.Value) {
		try(build)
		return
	}
	outer := b.bag
	b.bag = &diag.Bag{File: outer.File}
	try(build)
	outer.Take(b.bag, func(e *diag.Diagnostic) {
		switch {
		case d.Origin != "":
			e.Message = fmt.Sprintf("the annotation %s cannot be the rule %s: %s", d.Origin, d, e.Message)
			e.Hint = "list the other rules in the place of `from: annotations`, as xdsgen new prints them"
		case e.Code == diag.UnknownField:
			e.Message = fmt.Sprintf("%s; the rule %s stands for an annotation (%s) that %s no longer has", e.Message, d, d.Why.Value, Short(m))
			e.Hint = "write the present name of the field in the proto file, which can differ from that of the Go field, or remove the rule"
			if r := b.renamed(m, d); r != "" {
				e.Hint = "if the field was renamed, write " + r
			}
		}
	})
	b.bag = outer
}

// renamed returns the one rule that the annotations of a message have now for another field with the arguments of a rule.
func (b *builder) renamed(m *protogen.Message, d *descriptor.Rule) string {
	now, _ := b.annotations(m, d.Pos, annotation.AllDepth)
	var found []string
	for _, r := range now {
		moved := *d
		moved.At = r.At
		if moved.When != nil && r.When != nil {
			moved.When = r.When
		}
		known := slices.ContainsFunc(b.desc.Rules, func(o descriptor.Rule) bool { return o.String() == r.String() })
		if parentOf(moved.At.Value) == parentOf(d.At.Value) && moved.String() == r.String() && d.Why.Value == r.Why.Value && !known {
			found = append(found, r.String())
		}
	}
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

// parentOf is a path or full name without its last name.
func parentOf(path string) string { return path[:max(strings.LastIndexByte(path, '.'), 0)] }

// annotations returns the rules of the annotations of a message and of the messages in it, down to a depth, and the
// annotations that no rule expresses.
func (b *builder) annotations(m *protogen.Message, at diag.Pos, depth int) (rules []descriptor.Rule, unexpressed []annotation.Rule) {
	for _, r := range annotation.Derive(m, depth, b.index) {
		if r.Line != "" {
			rule := b.Parse(r.Line, at, b.bag)
			rule.Origin = r.Origin
			rules = append(rules, rule)
			continue
		}
		unexpressed = append(unexpressed, r)
		if !slices.Contains(b.pkg.Unruled, r.Comment) {
			b.pkg.Unruled = append(b.pkg.Unruled, r.Comment)
		}
	}
	return rules, unexpressed
}

// drift warns about rules of annotations that the annotations no longer have. The descriptor has such
// rules if it was written by xdsgen new.
func (b *builder) drift(m *protogen.Message, rules []descriptor.Rule) {
	var now []descriptor.Rule
	for _, d := range rules {
		if !annotation.Reason(d.Why.Value) || isGoPath(d.At.Value) {
			continue
		}
		if now == nil {
			all, _ := b.annotations(m, d.Pos, annotation.AllDepth)
			few, _ := b.annotations(m, d.Pos, annotation.Depth)
			now = slices.Concat(make([]descriptor.Rule, 0), all, few)
		}
		if slices.ContainsFunc(now, func(r descriptor.Rule) bool { return r.String() == d.String() }) {
			continue
		}
		text := "have no such rule"
		for _, r := range now {
			other := func(o descriptor.Rule) bool { return sameKeys(o, r) && !sameKeys(o, d) && o.Why.Value == r.Why.Value }
			if r.At.Value == d.At.Value && r.Why.Value == d.Why.Value && !slices.ContainsFunc(rules, other) {
				text = "now have " + r.String()
			}
		}
		b.bag.Warn(d.Pos, diag.Drift, "the annotations of %s changed: the rule about %s is not one of them, and they %s", Short(m), d.At.Value, text)
	}
}

// sameKeys reports whether two rules about one path have the same keys.
func sameKeys(a, b descriptor.Rule) bool {
	return a.At.Value == b.At.Value && slices.EqualFunc(a.Args, b.Args, func(a, b descriptor.Argument) bool { return a.Key == b.Key })
}

// ruleKind finds the one kind that a rule has.
func (b *builder) ruleKind(d *descriptor.Rule) RuleKind {
	given := func(k descriptor.Key) bool { return d.List(k.Name) != nil }
	found := slice.Filter(b.Kinds, func(k RuleKind) bool { return slices.ContainsFunc(k.Keys, given) })
	taken := slice.FlatMap(found, func(k RuleKind) []string { return k.Takes }) // arguments of a kind that was found
	selects := func(k descriptor.Key) bool { return given(k) && !slices.Contains(taken, k.Name) }
	found = slice.Filter(found, func(k RuleKind) bool { return slices.ContainsFunc(k.Keys, selects) })
	at := descriptor.Text{Pos: d.Pos}
	b.require(len(found) > 0, at, diag.RuleKind, "the rule has no kind, for example `required: true`")
	b.requireHint(len(found) == 1, at, diag.RuleKind, "make it two rules", "the rule has more than one kind")
	b.require(d.At.Given() || found[0].Message, at, diag.MissingKey, "the rule has no key \"at\"")
	return found[0]
}

// rule builds one rule about the message.
func (b *builder) rule(root *Scope, d *descriptor.Rule, kind RuleKind) {
	p := Path{From: root.Message}
	if d.At.Given() {
		p = b.rulePath(d.At, root.Message)
	}
	rule := kind.Build(&RuleArgs{builder: b, Rule: d, Path: p})
	when := b.cond(d.When, root.Message)
	reach, enter := rule.Reach(), repeatedSteps(p)
	if p.ToList() && p.Last().Part != nil {
		b.require(reach != ReachField && (reach == ReachElement || !p.Last().Key()), d.At, diag.RuleShape,
			"a rule of this kind cannot check the keys or values of the map %s", strings.TrimSuffix(d.At.Value, "."+string(p.Leaf().Desc.Name())))
	}
	c := &Check{Rule: rule, Path: p, Why: d.Why.Value}
	if reach == ReachResource {
		enter = 0
		b.pkg.Uses.read(p)
	} else {
		b.pkg.Uses.presence(p)
		if p.ToList() && reach != ReachMessage {
			enter--
			c.Elements = reach == ReachElement
		}
	}
	b.place(root, c, enter, when)
}

// goRule builds a rule about Go fields.
func (b *builder) goRule(s *Struct, d *descriptor.Rule, kind RuleKind) {
	at := d.At
	b.require(s == b.pkg.Update, at, diag.RuleShape, "%s is a path of Go fields, which starts at the update; move the rule to the rules of the descriptor", at.Value)
	var when Cond
	if w := d.When; w != nil {
		b.require(len(w.Present)+len(w.Absent)+len(w.Equals) == 0, descriptor.Text{Pos: w.Pos}, diag.CondScope, "a rule about Go fields can only have the conditions xdstp_name and profile")
		when.Context = contextOf(w)
	}
	p := b.goPath(at, s)
	b.require(kind.GoFields, at, diag.RuleShape, "a rule of this kind cannot check the Go field %s; write the path of the message", at.Value)
	rule := kind.Build(&RuleArgs{builder: b, Rule: d, Go: &p})
	elements := p.Last().List && rule.Reach() == ReachElement
	b.pkg.GoChecks = append(b.pkg.GoChecks, &Check{Rule: rule, Go: p, Why: d.Why.Value, Elements: elements, When: when, Stated: when})
}
