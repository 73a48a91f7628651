package schema

import (
	"regexp"
	"testing"
)

// There is a text for each pattern that people write.
func TestMatching(t *testing.T) {
	for _, pattern := range []string{
		`^[a-z]+-[a-z]+-[0-9]$`,
		`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`,
		`^(GET|POST)$`,
		`^v\d+\.\d+(\.\d+)?$`,
		`^/[^/ ]+/.*x$`,
		`^(?i)true$`,
		`^\S{3,}@.+$`,
		`^[^a-zA-Z0-9\n]+$`,
		`^projects/[^/]{1,63}$`,
		`literal`,
		`^US\$`,
		`^[A-Z]+\$$`,
	} {
		found := matching(pattern)
		if len(found) == 0 {
			t.Errorf("no text matches %s", pattern)
		}
		for i, x := range found {
			if re := regexp.MustCompile(pattern); i == 0 && !re.MatchString(x.(string)) {
				t.Errorf("%q does not match %s", x, pattern)
			}
		}
	}
}

// A pattern with a large number of repetitions has no large text.
func TestMatchingLimit(t *testing.T) {
	for _, x := range matching(`^(([ab]{500}){2}c){0,}$`) {
		if n := len(x.(string)); n > 2*mostSample {
			t.Errorf("a text of %d bytes", n)
		}
	}
}
