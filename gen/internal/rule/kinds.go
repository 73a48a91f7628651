package rule

import (
	"reflect"
	"regexp"
	"sync"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// kinds has a method for each kind. Methods need no list that every new kind must change.
type kinds struct{}

// Kinds returns the kinds of rules, in the order of their names.
func Kinds() []model.RuleKind {
	v := reflect.ValueOf(kinds{})
	out := make([]model.RuleKind, v.NumMethod())
	for i := range out {
		out[i] = v.Method(i).Call(nil)[0].Interface().(model.RuleKind)
	}
	return out
}

// Language returns the descriptor language with all kinds of rules. It must not be changed.
var Language = sync.OnceValue(func() descriptor.Language {
	return descriptor.NewLanguage(slice.FlatMap(Kinds(), func(k model.RuleKind) []descriptor.Key { return k.Keys }))
})

// one is the key of a kind with a single key.
func one(kind descriptor.Kind, name, doc string) []descriptor.Key {
	return []descriptor.Key{{Name: name, Kind: kind, Group: "kind", Doc: doc}}
}

// example returns a list of one example.
func example(rule, wording string) []model.RuleExample {
	return []model.RuleExample{{Rule: rule, Wording: wording}}
}

// pattern is the schema of texts that match a regular expression.
func pattern(expr string) (valid map[string]any, zero bool) {
	return map[string]any{"pattern": expr}, regexp.MustCompile(expr).MatchString("")
}
