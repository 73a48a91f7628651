package convert_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/framework/runtime/convert"
)

func keys[K convert.MapKey](m map[K]int) []K {
	var out []K
	for k, v := range convert.Sorted(m) {
		if v != m[k] {
			return nil
		}
		out = append(out, k)
	}
	return out
}

func checkSorted[K convert.MapKey](t *testing.T, want ...K) {
	t.Helper()
	m := make(map[K]int)
	for i, k := range want {
		m[k] = i + 1
	}
	if got := keys(m); !slices.Equal(got, want) {
		t.Errorf("keys %v; want %v", got, want)
	}
}

func TestSorted(t *testing.T) {
	checkSorted(t, "", "a", "b", "ba")
	checkSorted(t, false, true)
	checkSorted[int32](t, -10, -9, 9, 10)
	checkSorted[int64](t, -10, -9, 9, 10)
	checkSorted[uint32](t, 0, 9, 10)
	checkSorted[uint64](t, 0, 9, 10)
	for k := range convert.Sorted(map[string]int{"a": 1, "b": 2}) {
		if k != "a" {
			t.Errorf("%q is yielded after the end of the loop", k)
		}
		break
	}
}

func TestMap(t *testing.T) {
	if m := convert.Map[string, int](0); m != nil {
		t.Errorf("Map(0) = %v; want nil", m)
	}
	if m := convert.Map[string, int](3); m == nil || len(slices.Collect(maps.Keys(m))) > 0 {
		t.Errorf("Map(3) = %v; want an empty map", m)
	}
}

func TestEntry(t *testing.T) {
	for want, got := range map[string]string{
		`labels["a\"b"]`: convert.Entry("labels", `a"b`),
		"parts[-3]":      convert.Entry("parts", int64(-3)),
		"times[true]":    convert.Entry("times", true),
		`long["` + strings.Repeat("x", 120) + `"…]`: convert.Entry("long", strings.Repeat("x", 200)),
	} {
		if got != want {
			t.Errorf("Entry = %s; want %s", got, want)
		}
	}
}
