package matchtree

import (
	"strings"

	"github.com/xdsforge/xdsforge/framework/matcher"
)

// A Custom compares an input with custom_match. The result of a resource.InputMatcher implements it.
type Custom interface {
	// Match reports whether a call matches. It is called concurrently.
	Match(c *Call) bool
}

// A Tree chooses actions of type A. Its fields are for the JSON of updates.
type Tree[A any] struct {
	// Matchers are the entries of a matcher_list.
	Matchers []Entry[A] `json:",omitempty"`
	// Header is the input of a matcher_tree, and Values has its entries. If Prefixes is not nil, it has the lengths of the
	// keys in descending order, and the keys are prefixes.
	Header   string                `json:",omitempty"`
	Values   map[string]Outcome[A] `json:",omitempty"`
	Prefixes []int                 `json:",omitempty"`
	// None is the outcome without a match, or nil.
	None *Outcome[A] `json:",omitempty"`

	canonical string // Header as http.Header has it, or ""
}

// An Entry has the outcome for the calls that match a predicate.
type Entry[A any] struct {
	Predicate Predicate
	Outcome   Outcome[A]
}

// An Outcome is a nested tree, or an action if Nested is nil.
type Outcome[A any] struct {
	Nested *Tree[A] `json:",omitempty"`
	Action A
}

// Find returns the action for a call. It returns false if there is no match.
func (t *Tree[A]) Find(c *Call) (action A, ok bool) {
	for i := range t.Matchers {
		if t.Matchers[i].Predicate.match(c) {
			if action, ok = t.Matchers[i].Outcome.find(c); ok {
				return action, true
			}
		}
	}
	if t.Values != nil {
		if value, there := c.header(t.Header, t.canonical); there {
			if action, ok = t.lookup(c, value); ok {
				return action, true
			}
		}
	}
	if t.None != nil {
		return t.None.find(c)
	}
	return action, false
}

// lookup returns the action for a value: that of the longest prefix, or of the value itself.
func (t *Tree[A]) lookup(c *Call, value string) (action A, ok bool) {
	if t.Prefixes == nil {
		if o, there := t.Values[value]; there {
			return o.find(c)
		}
		return action, false
	}
	for _, n := range t.Prefixes {
		if n > len(value) {
			continue
		}
		if o, there := t.Values[value[:n]]; there {
			if action, ok = o.find(c); ok {
				return action, true
			}
		}
	}
	return action, false
}

func (o *Outcome[A]) find(c *Call) (A, bool) {
	if o.Nested != nil {
		return o.Nested.Find(c)
	}
	return o.Action, true
}

// A Predicate is a condition: of All, Any, Not and the input, only one is set.
type Predicate struct {
	// All are predicates that must all match. Any are predicates of which one must match.
	All []Predicate `json:",omitempty"`
	Any []Predicate `json:",omitempty"`
	// Not must not match.
	Not *Predicate `json:",omitempty"`
	// Header is the header that Value compares. An absent header does not match.
	Header string          `json:",omitempty"`
	Value  *matcher.String `json:",omitempty"`
	// Custom compares another input.
	Custom Custom `json:",omitempty"`

	canonical string // Header as http.Header has it, or ""
}

func (p *Predicate) match(c *Call) bool {
	switch {
	case p.Value != nil:
		value, there := c.header(p.Header, p.canonical)
		return there && p.Value.Match(value)
	case p.Custom != nil:
		return p.Custom.Match(c)
	case p.Not != nil:
		return !p.Not.match(c)
	case p.Any != nil:
		for i := range p.Any {
			if p.Any[i].match(c) {
				return true
			}
		}
		return false
	}
	for i := range p.All {
		if !p.All[i].match(c) {
			return false
		}
	}
	return true
}

// lower returns a name of a header in lower case, or false if it is not valid.
func lower(name string) (string, bool) {
	if name == "" || len(name) > maxHeader {
		return "", false
	}
	for i := range len(name) {
		c := name[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) && (c != ':' || i > 0 || len(name) == 1) {
			return "", false
		}
	}
	return strings.ToLower(name), true
}
