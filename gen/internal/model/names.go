package model

import (
	"fmt"
	"go/types"
	"slices"
	"strings"

	"github.com/xdsforge/xdsforge/gen/internal/slice"
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

// initialisms are the words that GoName writes in upper case.
const initialisms = `ACL API CA CPU CRL DNS EDS GRPC HTTP HTTPS ID IP JSON JWT LB RPC
	SDS SNI SQL TCP TLS TTL UDP URI URL UUID XDS`

// GoName is a name of protobuf as people write it in Go: "lb_policy" is LBPolicy.
func GoName(name string) string {
	return joined(name, func(word string) string {
		if upper := strings.ToUpper(word); slices.Contains(strings.Fields(initialisms), upper) {
			return upper
		}
		return strings.ToUpper(word[:1]) + word[1:]
	})
}

// camel makes "RoundRobin" of "ROUND_ROBIN" and of "round_robin".
func camel(name string) string {
	return joined(name, func(word string) string { return strings.ToUpper(word[:1]) + strings.ToLower(word[1:]) })
}

// joined is a name of protobuf without underscores. form is the form of a word.
func joined(name string, form func(word string) string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return r == '_' })
	return strings.Join(slice.Map(words, form), "")
}
