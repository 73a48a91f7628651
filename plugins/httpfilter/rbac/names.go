package rbac

import (
	"crypto/x509"
	"hash/maphash"
	"sync/atomic"
)

// names are what a certificate calls its owner, as far as rules look at it: the URIs, or
// without these the DNS names, or without these the subject (A41). There is one at least.
type names struct {
	leaf *x509.Certificate
	list []string
}

func newNames(leaf *x509.Certificate) *names {
	n := &names{leaf: leaf}
	for _, u := range leaf.URIs {
		n.list = append(n.list, u.String())
	}
	if n.list == nil {
		n.list = leaf.DNSNames
	}
	if n.list == nil {
		n.list = []string{leaf.Subject.String()}
	}
	return n
}

// A nameCache has the names of some certificates: the calls of a connection all come with
// the same one, and to write out its names would be most of the work.
type nameCache struct {
	seed maphash.Seed
	some [256]atomic.Pointer[names]
}

func newNameCache() *nameCache { return &nameCache{seed: maphash.MakeSeed()} }

func (c *nameCache) of(leaf *x509.Certificate) *names {
	if c == nil { // a literal configuration
		return newNames(leaf)
	}
	at := &c.some[maphash.Comparable(c.seed, leaf)%uint64(len(c.some))]
	n := at.Load()
	if n == nil || n.leaf != leaf {
		n = newNames(leaf)
		at.Store(n)
	}
	return n
}
