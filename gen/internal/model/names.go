package model

import (
	"fmt"
	"go/types"
	"slices"
	"strings"
)

// Names are names that are taken.
type Names map[string]bool

// Take takes a name and returns it: the base, or the base with the first number from 2 that makes it free.
func (n Names) Take(base string) string {
	name := base
	for i := 2; n[name]; i++ {
		name = fmt.Sprint(base, i)
	}
	n[name] = true
	return name
}

// ImportNames returns the names that an import beside generated code cannot have: the given ones, those of generated code, and
// those that Go keeps.
func ImportNames(others ...string) Names {
	taken := Names{"init": true}
	for _, name := range slices.Concat(others, strings.Fields(LocalNames), strings.Fields(FixedNames), types.Universe.Names()) {
		taken[name] = true
	}
	return taken
}
