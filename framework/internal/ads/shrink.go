package ads

// manyNames are so many that a map or list that had them does not keep its memory.
const manyNames = 1 << 10

// emptied is a map without its names. Maps never shrink.
func emptied(m map[string]struct{}) map[string]struct{} {
	if len(m) > manyNames {
		return make(map[string]struct{})
	}
	clear(m)
	return m
}
