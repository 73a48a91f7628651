package xdstp

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseLocator(t *testing.T) {
	for _, tt := range []struct {
		why, in string
		want    Locator
	}{
		{"no directives", "xdstp://e/t/i?a=1", Locator{Name: parse(t, "xdstp://e/t/i?a=1")}},
		{"an old-style name has none", "a#entry=b", Locator{Name: parse(t, "a#entry=b")}},
		{"an entry", "xdstp://e/tCollection/i#entry=A-z_0.9~/:", Locator{
			Name: parse(t, "xdstp://e/tCollection/i"), Entry: "A-z_0.9~/:",
		}},
		{"an encoded entry", "xdstp://e/t/i#entry=%61%3Ab", Locator{Name: parse(t, "xdstp://e/t/i"), Entry: "a:b"}},
		{"an alternative", "xdstp://e/t/i#alt=xdstp://f/t/j", Locator{
			Name: parse(t, "xdstp://e/t/i"), Alternates: []Locator{{Name: parse(t, "xdstp://f/t/j")}},
		}},
		{"an alternative is put into canonical form", "xdstp://e/t/i#alt=xdstp://f/t/j?b=1&a=2", Locator{
			Name: parse(t, "xdstp://e/t/i"), Alternates: []Locator{{Name: parse(t, "xdstp://f/t/j?a=2&b=1")}},
		}},
		{"an alternative is decoded once before it is parsed", "xdstp://e/t/i#alt=xdstp://f/t/x%252Fy%2Cz%3Fk=v%2526w", Locator{
			Name: parse(t, "xdstp://e/t/i"), Alternates: []Locator{{Name: parse(t, "xdstp://f/t/x%2Fy,z?k=v%26w")}},
		}},
		{"directives of an alternative are encoded one level deeper", "xdstp://e/t/i#entry=a,alt=xdstp://f%252F/t/j%23entry=b%2Calt=xdstp://g%25252F/t/k%2523entry=c", Locator{
			Name: parse(t, "xdstp://e/t/i"), Entry: "a",
			Alternates: []Locator{{
				Name: parse(t, "xdstp://f%2F/t/j"), Entry: "b",
				Alternates: []Locator{{Name: parse(t, "xdstp://g%2F/t/k"), Entry: "c"}},
			}},
		}},
	} {
		t.Run(tt.why, func(t *testing.T) {
			got, err := ParseLocator(tt.in)
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("ParseLocator(%q) = %+v, %v\nwant %+v", tt.in, got, err, tt.want)
			}
		})
	}
}

// TestDeepAlternates builds the deepest possible locator. The limit on the length also limits the
// depth.
func TestDeepAlternates(t *testing.T) {
	s, depth := "xdstp:///t", 0
	escape := strings.NewReplacer("%", "%25", "#", "%23", ",", "%2C")
	for {
		next := "xdstp:///t#alt=" + escape.Replace(s)
		if len(next) > maxLength {
			break
		}
		s, depth = next, depth+1
	}
	l, err := ParseLocator(s)
	if err != nil {
		t.Fatal(err)
	}
	got := 0
	for ; l.Alternates != nil; l = l.Alternates[0] {
		got++
	}
	if got != depth || depth < 10 {
		t.Errorf("%d alternatives of %d were found", got, depth)
	}
}

// TestEntryCharacters compares with the characters that resource_locator.proto lists.
func TestEntryCharacters(t *testing.T) {
	const allowed = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-./~:"
	for r := rune('!'); r < 0x100; r++ {
		l, err := ParseLocator("xdstp://e/t/i#entry=" + EncodePath(string(r)))
		if strings.ContainsRune(allowed, r) {
			if err != nil || l.Entry != string(r) {
				t.Errorf("the entry %q is read as %q, %v", r, l.Entry, err)
			}
		} else if err == nil {
			t.Errorf("the entry %q is accepted as %q", r, l.Entry)
		}
	}
}
