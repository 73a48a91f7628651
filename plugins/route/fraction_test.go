package route

import "testing"

// A fraction matches as many of a million random numbers as it states, and these are the lowest.
func TestRollsOfAFraction(t *testing.T) {
	for _, c := range []struct {
		perMillion, roll uint32
		want             bool
	}{
		{0, 0, false}, {1, 0, true}, {1, 1, false}, {250_000, 249_999, true}, {250_000, 250_000, false}, {1_000_000, 999_999, true},
	} {
		r := &Route{Path: Prefix{}, PerMillion: &c.perMillion}
		if got := r.matches("/a", nil, func() uint32 { return c.roll }); got != c.want {
			t.Errorf("a fraction of %d per million matches the roll %d: %t; want %t", c.perMillion, c.roll, got, c.want)
		}
	}
}
