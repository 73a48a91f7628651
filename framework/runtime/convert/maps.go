package convert

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
)

// A MapKey is a key of a protobuf map.
type MapKey interface {
	bool | int32 | int64 | uint32 | uint64 | string
}

// Map returns an empty map with room for n entries, or nil if n is 0.
func Map[K MapKey, V any](n int) map[K]V {
	if n == 0 {
		return nil
	}
	return make(map[K]V, n)
}

// Sorted yields the entries of a map in the order of their keys, false before true, so that
// violations have a fixed order.
func Sorted[K MapKey, V any](m map[K]V) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, k := range slices.SortedFunc(maps.Keys(m), compareKeys) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}

func compareKeys[K MapKey](a, b K) int {
	switch a := any(a).(type) {
	case bool:
		if a == any(b).(bool) {
			return 0
		} else if a {
			return 1
		}
		return -1
	case int32:
		return cmp.Compare(a, any(b).(int32))
	case int64:
		return cmp.Compare(a, any(b).(int64))
	case uint32:
		return cmp.Compare(a, any(b).(uint32))
	case uint64:
		return cmp.Compare(a, any(b).(uint64))
	default:
		return cmp.Compare(a.(string), any(b).(string))
	}
}

// maxKey is the limit of a key's length in a path.
const maxKey = 120

// Entry returns the last part of the path of a map entry: `labels["a"]`.
func Entry[K MapKey](name string, key K) string {
	s, ok := any(key).(string)
	switch {
	case !ok:
		return name + "[" + fmt.Sprint(key) + "]"
	case len(s) > maxKey:
		return name + "[" + strconv.Quote(s[:maxKey]) + "…]"
	}
	return name + "[" + strconv.Quote(s) + "]"
}
