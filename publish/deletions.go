package publish

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/xdsforge/xdsforge/internal/printable"
)

// ErrDeletions is in the chain of the error of [CheckDeletions].
var ErrDeletions = errors.New("too many deletions")

// deletionShare is the part of the resources that a transaction may delete: a fifth.
const deletionShare = 5

// CheckDeletions guards the resources of a store against a slip, such as the publication of an empty folder. It
// returns an error with [ErrDeletions] in its chain if a transaction deletes more than a fifth of the given resources,
// or the last ones of a type, unless it deletes no more than the allowed number. Programs that derive deletions from
// what is absent call it before they commit.
func CheckDeletions(tx *Tx, has iter.Seq[Key], allowed int) error {
	last := make(map[Key]bool) // true: a deletion
	for i := range tx.Operations() {
		last[tx.Operations()[i].Key] = tx.Operations()[i].Delete
	}
	left, total, deletions := make(map[string]int), 0, 0 // by type
	for k := range has {
		total++
		left[k.Type] += 0 // the type exists
		if last[k] {
			deletions++
		} else {
			left[k.Type]++
		}
	}
	if deletions <= allowed {
		return nil
	}
	for k, deleted := range last {
		if _, exists := left[k.Type]; exists && !deleted {
			left[k.Type]++
		}
	}
	if deletions*deletionShare > total {
		return fmt.Errorf("publish: deletions = %d of %d resources; must not be more than a fifth unless they are allowed: %w", deletions, total, ErrDeletions)
	}
	for _, t := range slices.Sorted(maps.Keys(left)) {
		if left[t] == 0 {
			return fmt.Errorf("publish: deletions of %s = all resources; must leave one unless %d deletions are allowed: %w",
				printable.Quote(strings.TrimPrefix(t, "type.googleapis.com/"), printable.Short), deletions, ErrDeletions)
		}
	}
	return nil
}
