package versiontext_test

import (
	"testing"

	"github.com/xdsforge/xdsforge/internal/versiontext"
)

// Only versions that stores of this module wrote are compared by their digest.
func TestSame(t *testing.T) {
	const digest, other = "00112233445566ff", "00112233445566fe"
	for _, x := range []struct {
		a, b string
		want bool
	}{
		{digest, digest, true},
		{"1-" + digest, "zz-" + digest, true},
		{"1-" + digest, digest, true},
		{"1-" + digest, "1-" + other, false},
		{"1y2p0ij32e8e7-" + digest, digest, true}, // the largest revision
		{"01y2p0ij32e8e7-" + digest, digest, false},
		{"-" + digest, digest, false},
		{"A-" + digest, digest, false},
		{"a-1-" + digest, "a-2-" + digest, false},
		{"1-" + digest[1:], "2-" + digest[1:], false},
		{"1-x" + digest[1:], "2-x" + digest[1:], false},
		{"2026-11-27", "2025-11-27", false},
		{"2026-11-27", "2026-11-27", true},
		{"release-2", "2", false},
		{"x", "x", true},
		{"1-x", "22-x", false},
		{"", "", false},
		{"1-", "2-", false},
		{"1-", "1-", true},
	} {
		if versiontext.Same(x.a, x.b) != x.want || versiontext.Same(x.b, x.a) != x.want {
			t.Errorf("Same(%q, %q) is not %t", x.a, x.b, x.want)
		}
	}
}
