package rule

import (
	"reflect"
	"strings"

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
