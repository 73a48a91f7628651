package ads

// manyNames is the number of names from which a map or list is replaced instead of kept.
const manyNames = 1 << 10

// emptied returns an empty map. It replaces a large one, because maps never shrink.
func emptied(m map[string]struct{}) map[string]struct{} {
	if len(m) > manyNames {
		return make(map[string]struct{})
	}
	clear(m)
	return m
}
