package clustermanager

import (
	"slices"
	"testing"
)

// The first two steps are the example of gRFC A115.
func TestNames(t *testing.T) {
	var names priorityNames[string]
	for i, step := range []struct {
		priorities [][]string
		want       []string
	}{
		{[][]string{{"A", "B"}, {"C", "D"}}, []string{"0", "1"}},
		{[][]string{{"C"}, {"D", "E"}}, []string{"1", "2"}},
		{[][]string{{"A", "B"}, {"C", "D"}}, []string{"3", "2"}}, // D keeps its priority
		{[][]string{{"D", "A"}, {"C"}}, []string{"3", "2"}},      // both keep something
		{[][]string{{"C"}, {"A"}}, []string{"2", "3"}},           // they change places
		{[][]string{{"X"}}, []string{"4"}},
		{nil, nil},
		{[][]string{{"C"}}, []string{"5"}},
		{[][]string{{"C"}, {"C"}}, []string{"5", "6"}}, // a locality in two priorities
	} {
		if got := names.assign(step.priorities); !slices.Equal(got, step.want) {
			t.Errorf("step %d: names of %q = %q, want %q", i, step.priorities, got, step.want)
		}
	}
}
