package descriptor

import (
	"reflect"
	"slices"
	"strings"
)

// Kind is the kind of a key's value. The tag `kind` of the tree has these names.
type Kind string

// The kinds.
const (
	KindText     Kind = "text"     // text that is not empty
	KindChoice   Kind = "choice"   // one of Key.Choices
	KindFlag     Kind = "flag"     // true or false
	KindTrue     Kind = "true"     // true
	KindSize     Kind = "size"     // a whole number that is not negative
	KindName     Kind = "name"     // an exported Go identifier
	KindFunc     Kind = "func"     // a Go identifier
	KindMessage  Kind = "message"  // the full name of a protobuf message
	KindMessages Kind = "messages" // one such name, or a list of them
	KindPath     Kind = "path"     // a dotted path
	KindPaths    Kind = "paths"    // one path, or a list of them
	KindUnique   Kind = "unique"   // true, or a list of paths
	KindValues   Kind = "values"   // "all", or a list of names of enum values
	KindLiteral  Kind = "literal"  // a scalar
	KindLiterals Kind = "literals" // one scalar, or a list of them
	KindPairs    Kind = "pairs"    // a mapping of paths to scalars
	KindMapping  Kind = "mapping"  // the mapping Key.Of
	KindList     Kind = "list"     // a list of the mapping Key.Of
	KindNamed    Kind = "named"    // a mapping of exported Go identifiers to the mapping Key.Of
)

// Key is one key of one mapping.
type Key struct {
	Name     string
	Kind     Kind
	Of       string   // the mapping of KindMapping, KindList and KindNamed
	Choices  []string // of KindChoice
	Required bool
	Group    string   // the keys of one group exclude each other
	With     []string // makes sense only beside one of these keys
	Doc      string
}

// Mapping is one kind of YAML mapping.
type Mapping struct {
	Name string
	Doc  string
	Keys []Key
	Need string // one key of this group must be there
}

// Language is the descriptor language. Its first mapping is the whole document.
type Language []Mapping

// NewLanguage returns the language of the tree, with the keys of the kinds of rules.
func NewLanguage(rules []Key) Language {
	trees := []any{Descriptor{}, Resource{}, Field{}, Pick{}, Case{}, Struct{}, Keep{}, Stop{}, Rule{}, Cond{}, Ref{}, Hook{}}
	l := make(Language, len(trees))
	for i, tree := range trees {
		typ := reflect.TypeOf(tree)
		tag := typ.Field(0).Tag
		l[i] = Mapping{Name: tag.Get("mapping"), Doc: doc(tag), Need: tag.Get("need")}
		for field := range typ.Fields() {
			switch field.Tag.Get("key") {
			case "":
			case "*":
				l[i].Keys = append(l[i].Keys, rules...)
			default:
				l[i].Keys = append(l[i].Keys, keyOf(field))
			}
		}
	}
	return l
}

// keyOf is the key that a field of the tree takes its value from.
func keyOf(f reflect.StructField) Key {
	k := Key{
		Name: f.Tag.Get("key"), Kind: Kind(f.Tag.Get("kind")), Choices: strings.Fields(f.Tag.Get("choices")),
		Required: f.Tag.Get("required") != "", Group: f.Tag.Get("group"), With: strings.Fields(f.Tag.Get("with")), Doc: doc(f.Tag),
	}
	typ, list := f.Type, f.Type.Kind() == reflect.Slice
	if list || typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	k.Of = typ.Field(0).Tag.Get("mapping")
	switch {
	case k.Kind != "":
	case typ == reflect.TypeFor[Pair]():
		k.Kind = KindPairs
	case typ == reflect.TypeFor[Struct]():
		k.Kind = KindNamed
	case list:
		k.Kind = KindList
	case k.Of != "":
		k.Kind = KindMapping
	case typ == reflect.TypeFor[Flag]():
		k.Kind = KindTrue
	default:
		k.Kind = KindText
	}
	return k
}

// doc is the documentation in a tag, which cannot have grave accents.
func doc(tag reflect.StructTag) string { return strings.ReplaceAll(tag.Get("doc"), "´", "`") }

// mapping returns the mapping with the given name.
func (l Language) mapping(name string) Mapping {
	return l[slices.IndexFunc(l, func(m Mapping) bool { return m.Name == name })]
}
