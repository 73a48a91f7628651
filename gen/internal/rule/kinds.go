package rule

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/model"
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

// Language returns the descriptor language with all kinds of rules.
func Language() descriptor.Language {
	var keys []descriptor.Key
	for _, k := range Kinds() {
		keys = append(keys, k.Keys...)
	}
	return descriptor.NewLanguage(keys)
}

// one is the key of a kind with a single key.
func one(kind descriptor.Kind, name, doc string) []descriptor.Key {
	return []descriptor.Key{{Name: name, Kind: kind, Group: "kind", Doc: doc}}
}

// textLiterals returns the values of a key, if the rule is about a text.
func textLiterals(a *model.RuleArgs, key string) ([]model.Literal, bool) {
	if !a.Fits(a.Class() == model.String, "a string") {
		return nil, false
	}
	return a.Literals(key)
}

// texts are literals as they are shown to people.
func texts(values []model.Literal) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = v.Text
	}
	return out
}

// alternatives is a list of values for people.
func alternatives(before string, values []string) string {
	return before + strings.Join(values, " or ")
}

// limits is the schema of numbers between two values, under the given keys. That of a duration, which
// is a text in JSON, has a lower limit of 0 only.
func limits(p model.Path, lo, hi *model.Literal, loKey, hiKey string) (valid map[string]any, zero bool) {
	if p.Class() == model.Duration {
		switch {
		case hi != nil || lo.Value != time.Duration(0):
			return nil, false
		case loKey == "minimum":
			return map[string]any{"pattern": "^[^-]"}, true
		}
		return map[string]any{"pattern": "^[^-]*[1-9]"}, true
	}
	valid, zero = make(map[string]any), true
	at := func(key string, l *model.Literal, sign float64) {
		if l == nil {
			return
		}
		valid[key] = l.Value
		n := sign * reflect.ValueOf(l.Value).Convert(reflect.TypeFor[float64]()).Float()
		zero = zero && (n < 0 || n == 0 && !strings.HasPrefix(key, "exclusive"))
	}
	at(loKey, lo, 1)
	at(hiKey, hi, -1)
	return valid, zero
}

// patterns is the schema of texts that match the pattern of one of some values. pattern gets a value as
// a regular expression.
func patterns(values []model.Literal, pattern func(text string) string) (valid map[string]any, zero bool) {
	all := make([]string, len(values))
	for i, l := range values {
		all[i] = pattern(regexp.QuoteMeta(l.Value.(string)))
	}
	zero = slices.ContainsFunc(values, func(l model.Literal) bool { return l.Value == "" })
	return map[string]any{"pattern": strings.Join(all, "|")}, zero
}
