package linediff

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func compare(before, after string) []Line[string] {
	return Compare(strings.Fields(before), strings.Fields(after), func(s string) string { return s })
}

func text(lines []Line[string]) string {
	var out []string
	for _, l := range lines {
		if l.Op == Hidden {
			l.Value = strconv.Itoa(l.Lines)
		}
		out = append(out, string(l.Op)+l.Value)
	}
	return strings.Join(out, ",")
}

func TestCompare(t *testing.T) {
	for _, test := range []struct{ before, after, want string }{
		{"", "", ""},
		{"a b", "a b", " a, b"},
		{"", "a", "+a"},
		{"a", "", "-a"},
		{"a b c", "a x c", " a,-b,+x, c"},
		{"a b c d", "b c e d", "-a, b, c,+e, d"},
	} {
		if got := text(compare(test.before, test.after)); got != test.want {
			t.Errorf("from %q to %q: %s; want %s", test.before, test.after, got, test.want)
		}
	}
}

// The lines that are not new are the old text, those that are not old the new text. A comparison has as
// few differences as possible for small texts, and is correct for large ones.
func TestCompareRebuildsBothTexts(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	random := func(n int) []string {
		out := make([]string, rnd.IntN(n+1))
		for i := range out {
			out[i] = strconv.Itoa(rnd.IntN(4))
		}
		return out
	}
	for i := range 300 {
		n := 12
		if i%100 == 0 {
			n = 5000
		}
		before, after := random(n), random(n)
		var gotBefore, gotAfter []string
		for _, l := range Compare(before, after, func(s string) string { return s }) {
			if l.Op != New {
				gotBefore = append(gotBefore, l.Value)
			}
			if l.Op != Old {
				gotAfter = append(gotAfter, l.Value)
			}
		}
		if !slices.Equal(before, gotBefore) || !slices.Equal(after, gotAfter) {
			t.Fatalf("from %v to %v: the lines are of %v and %v", before, after, gotBefore, gotAfter)
		}
	}
}

func TestFold(t *testing.T) {
	for _, test := range []struct{ before, after, want string }{
		{"a b c d e", "a b c d e", "@5"},
		{"a b c d e f g", "a b c x e f g", "@2, c,-d,+x, e,@2"},
		{"a b", "x b", "-a,+x, b"},
		{"a 1 2 b", "x 1 2 y", "-a,+x, 1, 2,-b,+y"},
	} {
		if got := text(Fold(compare(test.before, test.after), 1)); got != test.want {
			t.Errorf("from %q to %q: %s; want %s", test.before, test.after, got, test.want)
		}
	}
}
