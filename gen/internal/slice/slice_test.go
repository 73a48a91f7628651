package slice_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

func TestMap(t *testing.T) {
	if got, want := slice.Map([]int{3, 1, 2}, strconv.Itoa), []string{"3", "1", "2"}; !slices.Equal(got, want) {
		t.Errorf("Map() = %q; want %q", got, want)
	}
}

func TestFilter(t *testing.T) {
	list := []int{1, 2, 3, 4}
	if got, want := slice.Filter(list, func(n int) bool { return n%2 == 0 }), []int{2, 4}; !slices.Equal(got, want) {
		t.Errorf("Filter() = %v; want %v", got, want)
	}
	if !slices.Equal(list, []int{1, 2, 3, 4}) {
		t.Errorf("Filter() changed its list to %v", list)
	}
}

func TestFlatMap(t *testing.T) {
	twice := func(n int) []int { return slices.Repeat([]int{n}, n) }
	if got, want := slice.FlatMap([]int{2, 0, 3}, twice), []int{2, 2, 3, 3, 3}; !slices.Equal(got, want) {
		t.Errorf("FlatMap() = %v; want %v", got, want)
	}
	if got := slice.FlatMap(nil, twice); len(got) > 0 {
		t.Errorf("FlatMap(nil) = %v; want no elements", got)
	}
}
