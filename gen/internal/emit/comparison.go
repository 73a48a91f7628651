package emit

import (
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// A comparison is how a kind of [descriptor.ValueKinds] is written.
type comparison struct {
	// broken returns the condition that a value violates the rule. It is joined to others
	// by &&.
	broken func(e *emitter, value jen.Code, list []model.Literal) *jen.Statement
	// wording returns the rule's text in a violation.
	wording func(values []string) string
}

// comparisons has a row for each of [descriptor.ValueKinds].
func comparisons() map[string]comparison {
	return map[string]comparison{
		"in":     {(*emitter).noneOf, oneOf},
		"not_in": {(*emitter).anyOf, noneOf},
		"prefix": {(*emitter).noPrefixOf, startsWith},
	}
}

// noneOf is the condition that the value is none of the list.
func (e *emitter) noneOf(value jen.Code, list []model.Literal) *jen.Statement {
	out := make([]jen.Code, len(list))
	for i, l := range list {
		out[i] = e.is(value, l, false)
	}
	return and(out...)
}

// anyOf is the condition that the value is one of the list.
func (e *emitter) anyOf(value jen.Code, list []model.Literal) *jen.Statement {
	out := jen.Null()
	for i, l := range list {
		if i > 0 {
			out.Op("||")
		}
		out.Add(e.is(value, l, true))
	}
	if len(list) > 1 {
		return jen.Parens(out)
	}
	return out
}

// noPrefixOf is the condition that the text starts with none of the list.
func (e *emitter) noPrefixOf(value jen.Code, list []model.Literal) *jen.Statement {
	out := make([]jen.Code, len(list))
	for i, l := range list {
		out[i] = jen.Op("!").Add(e.qual("strings", "HasPrefix")).Call(value, e.literal(l))
	}
	return and(out...)
}

func startsWith(values []string) string {
	return "must start with " + strings.Join(values, " or ")
}

func oneOf(values []string) string {
	if len(values) == 1 {
		return "must be " + values[0]
	}
	return "must be one of " + strings.Join(values, ", ")
}

func noneOf(values []string) string {
	if len(values) == 1 {
		return "must not be " + values[0]
	}
	return "must be none of " + strings.Join(values, ", ")
}
