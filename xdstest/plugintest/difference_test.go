package plugintest

import "testing"

// The difference of two verdicts shows equal lines once, also if only the order differs.
func TestDifference(t *testing.T) {
	for _, c := range []struct {
		want, got []string
		text      string
	}{
		{[]string{"a", "b"}, []string{"a", "b"}, ""},
		{[]string{"a", "b", "c"}, []string{"a", "x", "c"}, "  a\n- b\n+ x\n  c\n"},
		{[]string{"ok"}, []string{"a", "b"}, "- ok\n+ a\n+ b\n"},
		{[]string{"a", "b"}, []string{"b", "a"}, "- a\n- b\n+ b\n+ a\n"},
		{nil, []string{"a"}, "+ a\n"},
		{[]string{"a", "a"}, []string{"a"}, "  a\n- a\n"},
	} {
		if text := difference(c.want, c.got); text != c.text {
			t.Errorf("difference of %q and %q:\n%s\nwant:\n%s", c.want, c.got, text, c.text)
		}
	}
}
