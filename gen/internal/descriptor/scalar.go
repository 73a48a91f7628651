package descriptor

import (
	"cmp"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v4"

	"github.com/xdsforge/xdsforge/gen/internal/diag"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// value reads the value of key k into v.
func (w *walker) value(n *yaml.Node, k Key, v reflect.Value) {
	switch to := v.Addr().Interface().(type) {
	case *Text:
		*to = w.text(n, k)
	case *[]Text:
		*to = w.texts(n, k)
	case *[]Argument:
		*to = append(*to, Argument{k.Name, w.texts(n, k)})
	case *[]Pair:
		*to = w.pairs(n, k)
	case *Flag:
		t := w.text(n, k)
		*to = Flag{Pos: t.Pos, Value: t.Value == "true"}
	case *[]Struct:
		*to = w.named(n, k)
	default:
		if k.Kind == KindList {
			w.list(n, k, v)
			return
		}
		if v.Kind() == reflect.Pointer {
			v.Set(reflect.New(v.Type().Elem()))
			v = v.Elem()
		}
		w.mapping(n, w.language.mapping(k.Of), v)
	}
}

// texts reads one scalar, or a list of them if the kind of the key has lists.
func (w *walker) texts(n *yaml.Node, k Key) []Text {
	kinds, listed := lists()[k.Kind]
	if !listed || n.Kind != yaml.SequenceNode {
		k.Kind = cmp.Or(kinds.one, k.Kind)
		return []Text{w.text(n, k)}
	}
	k.Kind = kinds.many
	if len(n.Content) == 0 {
		w.bag.Add(w.position(n), diag.BadValue, "%s is an empty list", k.Name)
	}
	return slice.Map(n.Content, func(e *yaml.Node) Text { return w.text(e, k) })
}

// listKinds are the kinds of a single value and of each element, for a kind that accepts a value or a list.
type listKinds struct{ one, many Kind }

func lists() map[Kind]listKinds {
	return map[Kind]listKinds{
		KindPaths: {KindPath, KindPath}, KindMessages: {KindMessage, KindMessage}, KindUnique: {KindTrue, KindPath},
		KindValues: {KindLiteral, KindLiteral}, KindLiterals: {KindLiteral, KindLiteral},
	}
}

// text reads a scalar and checks that it is of k's kind.
func (w *walker) text(n *yaml.Node, k Key) Text {
	t := Text{Pos: w.position(n), Value: n.Value, Tag: n.ShortTag()}
	want, ok := scalarKinds()[k.Kind]
	switch {
	case n.Kind != yaml.ScalarNode, !slices.Contains(want.tags, t.Tag):
		w.bag.Add(t.Pos, diag.WrongType, "%s must be %s, is %s", k.Name, want.what, describe(n))
	case k.Kind == KindChoice && !slices.Contains(k.Choices, t.Value):
		hint := ""
		if len(k.Choices) > 1 {
			hint = diag.Suggest(t.Value, k.Choices)
		}
		w.bag.AddHint(t.Pos, diag.BadValue, hint, "%s = %q; must be %s", k.Name, t.Value, either(k.Choices, `"`))
	case ok && want.fits != nil && !want.fits(t.Value):
		w.bag.Add(t.Pos, want.code, "%s = %q; must be %s", k.Name, t.Value, want.what)
	default:
		t.Value = strings.TrimSpace(t.Value)
		if strings.HasPrefix(n.Tag, "!!bool") {
			t.Value = strings.ToLower(t.Value)
		}
	}
	return t
}

// scalarKind describes how to recognize a kind of scalar.
type scalarKind struct {
	what   string
	tags   []string
	fits   func(string) bool // nil: any
	code   diag.Code
	schema object
}

var scalarKinds = sync.OnceValue(func() map[Kind]scalarKind {
	const name = `[A-Za-z_][A-Za-z0-9_]*` // of protobuf
	str, scalar, boolean := []string{"!!str"}, []string{"!!str", "!!int", "!!float", "!!bool"}, []string{"!!bool"}
	text := func(what, pattern string, code diag.Code) scalarKind {
		return scalarKind{what, str, regexp.MustCompile(pattern).MatchString, code, object{"type": "string", "pattern": pattern}}
	}
	nonEmpty := text("non-empty text", `\S`, diag.BadValue)
	nonEmpty.fits = func(s string) bool { return strings.TrimSpace(s) != "" } // a regular expression of Go knows fewer blanks
	identifier := text("a Go identifier", `^[\p{L}_][\p{L}\p{Nd}_]*$`, diag.BadIdentifier)
	isIdentifier := identifier.fits
	identifier.fits = func(s string) bool { return isIdentifier(s) && !slices.Contains(reserved(), s) }
	identifier.schema["not"] = object{"enum": reserved()}
	size := object{"type": "integer", "minimum": 0, "maximum": maxLength}
	return map[Kind]scalarKind{
		KindText:    nonEmpty,
		KindChoice:  {"text", str, nil, diag.BadValue, nil},
		KindFlag:    {"true or false", boolean, nil, diag.BadValue, object{"type": "boolean"}},
		KindTrue:    {"true", boolean, func(s string) bool { return strings.EqualFold(s, "true") }, diag.BadValue, object{"const": true}},
		KindSize:    {"a whole number that is not negative", []string{"!!int"}, isSize, diag.BadValue, size},
		KindName:    text("an exported Go identifier", `^\p{Lu}[\p{L}\p{Nd}_]*$`, diag.BadIdentifier),
		KindFunc:    identifier,
		KindMessage: text("the full name of a message", `^`+name+`(\.`+name+`)+$`, diag.BadValue),
		KindPath:    text("a path: names separated by dots", `^`+name+`(\.`+name+`)*$`, diag.BadValue),
		KindLiteral: {"text, a number or a bool", scalar, nil, diag.BadValue, object{"type": []string{"string", "number", "boolean"}}},
	}
})

// maxLength bounds lengths that a descriptor states.
const maxLength = math.MaxInt32

func isSize(s string) bool {
	n, err := strconv.ParseUint(s, 10, 64)
	return err == nil && n <= maxLength
}
