package policy

// keyed is an endpoint of a policy. The set of its addresses is its key.
type keyed interface {
	comparable
	key() string
}

// match returns the existing endpoint for each key, or nil, and the endpoints without a key. Most
// updates change few endpoints, so it needs a map only for those between the first and the last
// change.
func match[E keyed](existing []E, keys []string) (matched, gone []E) {
	var none E
	matched = make([]E, len(keys))
	start, end, last := 0, len(keys), len(existing)
	for start < min(end, last) && existing[start].key() == keys[start] {
		matched[start] = existing[start]
		start++
	}
	for end > start && last > start && existing[last-1].key() == keys[end-1] {
		end, last = end-1, last-1
		matched[end] = existing[last]
	}
	left := make(map[string]E, last-start)
	for _, e := range existing[start:last] {
		if left[e.key()] != none {
			gone = append(gone, e) // an endpoint was there twice
			continue
		}
		left[e.key()] = e
	}
	for i, key := range keys[start:end] {
		matched[start+i] = left[key]
		delete(left, key)
	}
	for _, e := range left {
		gone = append(gone, e)
	}
	return matched, gone
}
