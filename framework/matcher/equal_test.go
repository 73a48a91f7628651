package matcher_test

import (
	"testing"

	"github.com/xdsforge/xdsforge/framework/matcher"
)

// Headers are equal if all fields that affect the result are.
func TestHeaderEqual(t *testing.T) {
	all := []matcher.Header{
		{Name: "a"},
		{Name: "b"},
		{Name: "a", Invert: true},
		{Name: "a", Value: matcher.String{Kind: matcher.Exact, Text: "x"}},
		{Name: "a", Range: &matcher.Range{End: 1}},
		{Name: "a", Range: &matcher.Range{End: 2}},
		{Name: "a", Present: new(bool)},
		{Name: "a", Present: new(true)},
	}
	for i, a := range all {
		for j, b := range all {
			if a.Range != nil {
				a.Range = new(*a.Range)
			}
			if a.Present != nil {
				a.Present = new(*a.Present)
			}
			if a.Equal(b) != (i == j) {
				t.Errorf("%+v and %+v: equal is %v", a, b, a.Equal(b))
			}
		}
	}
}
