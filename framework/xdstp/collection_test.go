package xdstp

import "testing"

func parse(t testing.TB, s string) Name {
	t.Helper()
	n, err := Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestKindsOfCollection(t *testing.T) {
	for _, tt := range []struct {
		name       string
		glob, list bool
	}{
		{"xdstp://e/t.T/i", false, false},
		{"xdstp://e/t.T/*", true, false},
		{"xdstp://e/t.T/a/b/*?k=v", true, false},
		{"xdstp://e/t.T/%2A", true, false}, // "*", once it is decoded
		{"xdstp://e/t.T/a*", false, false},
		{"xdstp://e/t.T/*/a", false, false},
		{"xdstp://e/t.T/a%2F*", false, false}, // one segment
		{"xdstp://e/*", false, false},         // a type
		{"xdstp://e/t.T?k=/*", false, false},
		{"xdstp://e/t.TCollection/i", false, true},
		{"xdstp://e/t.TCollection", false, true},
		{"xdstp://e/t.Collection/i", false, false},
		{"xdstp://e/Collection/i", false, false},
		{"xdstp://e/t.TCollections/i", false, false},
		{"*", false, false},
		{"a/*", false, false},
		{"t.TCollection", false, false},
	} {
		n := parse(t, tt.name)
		if n.IsGlob() != tt.glob || n.IsCollection() != tt.list {
			t.Errorf("%q: IsGlob() = %v, IsCollection() = %v", tt.name, n.IsGlob(), n.IsCollection())
		}
	}
}

func TestContains(t *testing.T) {
	for _, tt := range []struct {
		glob, member string
		want         bool
	}{
		{"xdstp://e/t/a/*", "xdstp://e/t/a/x", true},
		{"xdstp://e/t/*", "xdstp://e/t/x", true},
		{"xdstp:///t/*", "xdstp:///t/x", true},
		{"xdstp://e/t/a/*?k=v&l=w", "xdstp://e/t/a/x?l=w&k=v", true},
		{"xdstp://e/t/a/*", "xdstp://e/t/a/x%2Fy", true},
		{"xdstp://e/t/a/*", "xdstp://e/t/a/", true}, // the last segment is empty
		{"xdstp://e/t/a/*", "xdstp://e/t/a/x/y", false},
		{"xdstp://e/t/*", "xdstp://e/t/a/x", false},
		{"xdstp://e/t/a/*", "xdstp://e/t/x", false},
		{"xdstp://e/t/a/*", "xdstp://e/t/a", false},
		{"xdstp://e/t/*", "xdstp://e/t", false},
		{"xdstp://e/t/a/*", "xdstp://e/t/ab/x", false},
		{"xdstp://e/t/a/*", "xdstp://f/t/a/x", false},
		{"xdstp://e/t/a/*", "xdstp://e/u/a/x", false},
		{"xdstp://e/t/a/*?k=v", "xdstp://e/t/a/x", false},
		{"xdstp://e/t/a/*", "xdstp://e/t/a/x?k=v", false},
		{"xdstp://e/t/a/*?k=v", "xdstp://e/t/a/x?k=w", false},
		{"xdstp://e/t/a/*", "xdstp://e/t/a/*", false},
		{"xdstp://e/t/*", "xdstp://e/t/*", false},
		{"xdstp://e/t/a/x", "xdstp://e/t/a/x", false},
		{"a/*", "a/x", false},
		{"xdstp://e/t/*", "x", false},
	} {
		if got := parse(t, tt.glob).Contains(parse(t, tt.member)); got != tt.want {
			t.Errorf("%q contains %q: %v, want %v", tt.glob, tt.member, got, tt.want)
		}
		glob, ok := parse(t, tt.member).Glob()
		if is := ok && glob == parse(t, tt.glob); is != tt.want {
			t.Errorf("%q.Glob() = %q, %v", tt.member, glob, ok)
		}
		if ok && !glob.Contains(parse(t, tt.member)) {
			t.Errorf("%q does not contain %q, of which it is the glob", glob, tt.member)
		}
	}
}
