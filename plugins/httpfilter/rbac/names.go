package rbac

import (
	"crypto/x509"
	"hash/maphash"
	"sync/atomic"
)

// names are the names in a certificate that rules match (A41): the URIs, or else the DNS
// names, or else the subject. There is at least one.
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

// A nameCache caches the names of some certificates. All calls of a connection have the
// same certificate, and formatting its names would be most of the work.
type nameCache struct {
	seed maphash.Seed
	some [256]atomic.Pointer[names]
}

func newNameCache() *nameCache { return &nameCache{seed: maphash.MakeSeed()} }

func (c *nameCache) of(leaf *x509.Certificate) *names {
	if c == nil { // a configuration that a program built itself
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
