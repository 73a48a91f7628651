package node

// one is 1 in the fixed-point numbers of gRFC A113, which have 31 fractional bits of 32.
const one = 1 << 31

// A Weighted is an endpoint with its share of all calls of a priority.
type Weighted struct {
	Endpoint
	// Share is in 1/2³¹ of all calls, at least 1 (A113).
	Share uint32
}

// Flatten returns one list of the endpoints of all localities. The share of an endpoint is the
// share of its locality times its own share in the locality (A113).
func Flatten(localities []Locality) []Weighted {
	var all uint64
	n := 0
	for i := range localities {
		all += uint64(localities[i].Weight)
		n += len(localities[i].Endpoints)
	}
	out := make([]Weighted, 0, n)
	for i := range localities {
		l := &localities[i]
		var sum uint64
		for j := range l.Endpoints {
			sum += uint64(l.Endpoints[j].Weight)
		}
		share := normal(l.Weight, all)
		for _, e := range l.Endpoints {
			product := share * normal(e.Weight, sum) / one
			out = append(out, Weighted{Endpoint: e, Share: uint32(max(product, 1))}) //nolint:gosec // at most one
		}
	}
	return out
}

// normal returns the share of a weight in a sum, in fixed point.
func normal(weight uint32, sum uint64) uint64 {
	return uint64(weight) * one / max(sum, 1)
}
