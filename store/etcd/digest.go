package etcd

import (
	"github.com/cespare/xxhash/v2"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/versiontext"
)

// A Digest identifies the resources that a store has read. Two processes with equal epochs and revisions and
// unequal sums have different resources, which must not happen.
type Digest struct {
	Epoch    string
	Revision int64             // of the last commit that the store has read
	Sums     map[string]uint64 // by type URL: the exclusive or of a hash of each name and version
}

// Equal reports whether two digests do not contradict each other: their resources are equal, or they are of
// different revisions.
func (d Digest) Equal(o Digest) bool {
	if d.Epoch != o.Epoch || d.Revision != o.Revision {
		return true
	}
	for _, x := range []struct{ a, b map[string]uint64 }{{d.Sums, o.Sums}, {o.Sums, d.Sums}} {
		for t, sum := range x.a {
			if x.b[t] != sum {
				return false
			}
		}
	}
	return true
}

// digestOf hashes a resource by its name and the digest in its version.
func digestOf(r *source.Resource) uint64 {
	h := xxhash.New()
	_, _ = h.WriteString(r.Name)
	_, _ = h.WriteString("\x00")
	_, _ = h.WriteString(versiontext.Digest(r.Version))
	return h.Sum64()
}
