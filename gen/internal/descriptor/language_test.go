package descriptor

import (
	"slices"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/gen/internal/diag"
)

// language is the language with two keys of rules.
func language() Language {
	return NewLanguage([]Key{
		{Name: "in", Kind: KindLiterals, Group: "kind", Doc: "One of these."},
		{Name: "min", Kind: KindLiteral, Doc: "The least."},
	})
}

// find returns a key of a mapping.
func find(m Mapping, name string) (Key, bool) {
	i := slices.IndexFunc(m.Keys, func(k Key) bool { return k.Name == name })
	if i < 0 {
		return Key{}, false
	}
	return m.Keys[i], true
}

// The choices of `as` are the conversions.
func TestConversions(t *testing.T) {
	as, _ := find(language().mapping("field"), "as")
	for i, c := range Conversions() {
		if i >= len(as.Choices) || as.Choices[i] != c.Name {
			t.Errorf("choice %d of %v; want %s", i, as.Choices, c.Name)
		}
	}
	if len(as.Choices) != len(Conversions()) {
		t.Errorf("%d choices and %d conversions", len(as.Choices), len(Conversions()))
	}
}

// The mappings of the language refer to each other correctly.
func TestLanguage(t *testing.T) {
	mappings := make(map[string]bool)
	for _, m := range language() {
		mappings[m.Name] = true
	}
	for _, m := range language() {
		if m.Doc == "" {
			t.Errorf("mapping %s has no doc", m.Name)
		}
		for _, k := range m.Keys {
			if k.Doc == "" || !strings.HasSuffix(k.Doc, ".") {
				t.Errorf("%s.%s: doc %q must be a sentence", m.Name, k.Name, k.Doc)
			}
			nests := k.Kind == KindMapping || k.Kind == KindList || k.Kind == KindNamed
			if nests != mappings[k.Of] {
				t.Errorf("%s.%s: kind %s of %q", m.Name, k.Name, k.Kind, k.Of)
			}
			if (k.Kind == KindChoice) != (len(k.Choices) > 0) {
				t.Errorf("%s.%s: kind %s with choices %v", m.Name, k.Name, k.Kind, k.Choices)
			}
			for _, with := range k.With {
				if _, ok := find(m, with); !ok {
					t.Errorf("%s.%s: there is no key %q", m.Name, k.Name, with)
				}
			}
		}
		if m.Need != "" && !slices.ContainsFunc(m.Keys, func(k Key) bool { return k.Group == m.Need }) {
			t.Errorf("%s needs a key of group %q, which has none", m.Name, m.Need)
		}
	}
}

func TestPositions(t *testing.T) {
	bag := new(diag.Bag)
	d := language().Parse([]byte(`version: v1
resource: {message: a.B, name: c, sotw: partial}
fields:
  - name: A
    from: [x.y, z]
structs:
  S:
    fields: []
rules:
  - {at: x, min: 1, when: {equals: {y: TRUE, z: 3}}}
`), bag)
	if bag.Len() > 0 {
		t.Fatal(bag.Errors())
	}
	for _, test := range []struct {
		what string
		got  Text
		want Text
	}{
		{"message", d.Resource.Message, Text{diag.Pos{Line: 2, Column: 21}, "a.B", "!!str"}},
		{"from", d.Fields[0].From[1], Text{diag.Pos{Line: 5, Column: 17}, "z", "!!str"}},
		{"struct", d.Structs[0].Name, Text{diag.Pos{Line: 7, Column: 3}, "S", "!!str"}},
		{"bool", d.Rules[0].When.Equals[0].Value, Text{diag.Pos{Line: 10, Column: 40}, "true", "!!bool"}},
		{"number", d.Rules[0].When.Equals[1].Value, Text{diag.Pos{Line: 10, Column: 49}, "3", "!!int"}},
	} {
		if test.got != test.want {
			t.Errorf("%s = %+v; want %+v", test.what, test.got, test.want)
		}
	}
	if d.Resource.Go.Given() {
		t.Error("a key that is not there is given")
	}
}

func TestTooLarge(t *testing.T) {
	bag := new(diag.Bag)
	language().Parse(make([]byte, maxSize+1), bag)
	if bag.Len() != 1 || bag.Errors()[0].Code != diag.Syntax {
		t.Errorf("diagnostics: %v", bag.Errors())
	}
}

// TestDerivedRules checks that all parts of derived rules are at one position, and that a part that is missing stays so.
func TestDerivedRules(t *testing.T) {
	l := NewLanguage([]Key{{Name: "one_of", Kind: KindPaths, Group: "kind"}})
	at, bag := diag.Pos{Line: 7, Column: 9}, new(diag.Bag)
	whole := l.ParseRule("{one_of: [a, b], why: X}", at, bag)
	r := l.ParseRule("{at: a.b, one_of: c, when: {present: a}, why: X}", at, bag)
	if bag.Len() > 0 {
		t.Fatal(bag.Errors())
	}
	if whole.At.Given() {
		t.Errorf("a rule without `at` is about %q", whole.At.Value)
	}
	for part, pos := range map[string]diag.Pos{"rule": r.Pos, "at": r.At.Pos, "argument": r.Args[0].Values[0].Pos, "when": r.When.Present[0].Pos, "why": r.Why.Pos} {
		if pos != at {
			t.Errorf("%s is at %v; want %v", part, pos, at)
		}
	}
}
