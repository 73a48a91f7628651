package resource

import "testing"

// Plain rejects texts that JSON must escape, and characters outside ASCII.
func TestPlain(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, " ": true, "~": true, "round_robin": true, "\x1f": false, "\x7f": false, "é": false, `a"b`: false, `a\b`: false, "a\n": false,
	} {
		if got := plain(text); got != want {
			t.Errorf("plain(%q) = %t; want %t", text, got, want)
		}
	}
}
