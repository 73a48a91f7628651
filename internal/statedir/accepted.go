package statedir

import (
	"slices"

	"github.com/xdsforge/xdsforge/framework/source"
)

// accepted returns a transaction with the resources of the file, as far as this version accepts them. An earlier one may
// have accepted more, such as an alias of another authority. A resource is left out only if it is invalid without its
// invalid aliases, too. The file does not say that it does not exist.
func (s *snapshot) accepted() *source.Tx {
	tx := new(source.Tx)
	for i := range s.resources {
		tx.Put(s.resources[i])
	}
	if tx.Check() == nil {
		return tx
	}
	tx = new(source.Tx)
	for _, r := range s.resources {
		if acceptable(r) {
			tx.Put(r)
			continue
		}
		alone := r
		alone.Aliases = nil
		if !acceptable(alone) {
			continue
		}
		r.Aliases = slices.DeleteFunc(slices.Clone(r.Aliases), func(a string) bool {
			alone.Aliases = []string{a}
			return !acceptable(alone)
		})
		tx.Put(r)
	}
	return tx
}

// acceptable reports whether this version accepts a resource.
func acceptable(r source.Resource) bool { return new(source.Tx).Put(r).Check() == nil }
