// Package ringhash is the policy that sends calls with the same hash to the same endpoint while the
// endpoint is available (gRFC A42, A61, A76).
package ringhash

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strconv"

	"github.com/cespare/xxhash/v2"
)

// A ring is a circle of hashes. Each entry leads to an endpoint. It is immutable.
type ring []entry

type entry struct {
	hash uint64
	at   int // the endpoint's index
}

// A spot has the key and weight that place an endpoint on a ring.
type spot struct {
	key    string
	weight uint32
}

// newRing distributes endpoints over a ring, as Envoy does. Each has a share of the entries by
// weight. The endpoint with the least weight has a whole number of entries if the size allows it.
// The ring does not depend on the order of the endpoints, so that all clients have the same ring.
func newRing(spots []spot, minSize, maxSize uint64) ring {
	order := make([]int, len(spots))
	var sum, least uint64
	for i, s := range spots {
		order[i] = i
		sum += uint64(s.weight)
		if w := uint64(s.weight); i == 0 || w < least {
			least = w
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(spots[a].key, spots[b].key) })

	smallest := float64(least) / float64(sum)
	scale := math.Min(math.Ceil(smallest*float64(minSize))/smallest, float64(maxSize))
	r := make(ring, 0, int(math.Ceil(scale)))
	var wanted, have float64
	var key []byte
	for _, i := range order {
		wanted += scale * float64(spots[i].weight) / float64(sum)
		key = append(append(key[:0], spots[i].key...), '_')
		prefix := len(key)
		for n := int64(0); have < wanted; n++ {
			key = strconv.AppendInt(key[:prefix], n, 10)
			r = append(r, entry{xxhash.Sum64(key), i})
			have++
		}
	}
	slices.SortFunc(r, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(spots[a.at].key, spots[b.at].key), cmp.Compare(a.at, b.at))
	})
	return r
}

// find returns the index of the first entry that is not before a hash.
func (r ring) find(hash uint64) int {
	i := sort.Search(len(r), func(i int) bool { return r[i].hash >= hash })
	if i == len(r) {
		return 0
	}
	return i
}
