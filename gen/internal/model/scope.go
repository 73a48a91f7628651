package model

import (
	"slices"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

func repeatedSteps(p Path) int { return len(slice.Filter(p.Steps, Step.Repeated)) }

// place puts a check into the scope of the message that it looks at: behind the
// first repeated steps of its path, as many as are to be entered. The tests of
// its condition are made as far out as they can be.
func (b *builder) place(root *Scope, c *Check, enter int, when Cond) {
	conds := make([]Cond, enter+1)
	conds[0].Context = when.Context
	c.Stated = when
	for _, t := range when.Tests {
		depth, rest, ok := within(t.Path, c.Path, enter)
		b.require(ok, t.at, diag.CondScope, "%s goes through a repeated field that is not in the path of the rule", t.at.Value)
		t.Path = rest
		conds[depth].Tests = append(conds[depth].Tests, t)
	}
	s := root
	for depth := range enter {
		head, rest, _ := c.Path.Split()
		s = s.under(head, conds[depth])
		c.Path = rest
	}
	c.When = conds[enter]
	s.Checks = append(s.Checks, c)
}

// within returns the number of repeated fields that p shares with at, and the rest of p
// after them. It does not fit unless it shares all repeated fields on its way.
func within(p, at Path, enter int) (depth int, rest Path, ok bool) {
	rest = p
	for {
		head, tail, found := rest.Split()
		if !found || len(tail.Steps) == 0 {
			return depth, rest, true
		}
		shared, left, found := at.Split()
		if !found || depth == enter || shared.String() != head.String() {
			return 0, Path{}, false
		}
		depth++
		rest, at = tail, left
	}
}

// under finds or makes the scope of a repeated field under a condition.
func (s *Scope) under(p Path, when Cond) *Scope {
	for _, u := range s.Under {
		if u.Path.String() == p.String() && SameCond(u.When, when) {
			return u.Scope
		}
	}
	u := &Under{When: when, Path: p, Scope: &Scope{Message: p.Message()}}
	s.Under = append(s.Under, u)
	return u.Scope
}

// SameCond reports whether two conditions are the same.
func SameCond(a, b Cond) bool {
	is := func(c Cond) bool { return c.Xdstp != nil && *c.Xdstp }
	return slices.EqualFunc(a.Tests, b.Tests, func(a, b Test) bool { return a.Kind == b.Kind && a.String() == b.String() }) &&
		(a.Xdstp == nil) == (b.Xdstp == nil) && is(a) == is(b) && a.Profile == b.Profile && a.Side == b.Side
}

// validateHook builds a hook that looks at messages, or notes one that checks or
// finishes the update.
func (b *builder) validateHook(root *Scope, d *descriptor.Hook) {
	switch {
	case d.Check.Given():
		b.pkg.Checkers = append(b.pkg.Checkers, b.hookName(d.Check))
		return
	case d.Finish.Given():
		b.pkg.Finish = append(b.pkg.Finish, b.hookName(d.Finish))
		return
	}
	p, name := Path{From: root.Message}, b.hookName(d.Validate)
	if d.At.Given() {
		p = b.rulePath(d.At, root.Message)
		b.notOneof(d.At, p)
		b.require(p.Message() != nil, d.At, diag.WrongShape, "%s is %s, but a validate hook checks a message", d.At.Value, p.Class())
	}
	needs := b.inner(d.Needs, p.Message(), func(Path) bool { return true }, "")
	c := &Check{Path: p, Hook: Hook{Func: name, Needs: needsOf(needs)}}
	b.pkg.Uses.read(p)
	if len(needs)+len(p.Steps) > 0 { // otherwise see lateHooks
		b.pkg.Uses.needs(c.Hook, p.Message())
	}
	b.place(root, c, repeatedSteps(p), Cond{Context: Context{Profile: d.Profile.Value}})
}
