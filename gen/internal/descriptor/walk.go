package descriptor

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/xdsforge/xdsforge/gen/internal/diag"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// A walker reads YAML nodes into the tree, as the language defines.
type walker struct {
	bag      *diag.Bag
	lines    [][]byte // of the file
	at       diag.Pos // of all nodes, if they are not from the file
	language Language
}

// position returns the position of a node. A missing node is at the end of the file.
func (w *walker) position(n *yaml.Node) diag.Pos {
	if !w.at.IsZero() {
		return w.at
	}
	return clamp(diag.Pos{Line: n.Line, Column: n.Column}, w.lines)
}

// mapping reads n, a mapping of kind m, into the struct v.
func (w *walker) mapping(n *yaml.Node, m Mapping, v reflect.Value) {
	v.FieldByName("Pos").Set(reflect.ValueOf(w.position(n)))
	names := slice.Map(m.Keys, func(k Key) string { return k.Name })
	seen := w.entries(n, m.Name, "a mapping", func(key, value *yaml.Node) {
		i := slices.Index(names, key.Value)
		if i < 0 {
			hint := cmp.Or(diag.Suggest(key.Value, names), "the keys are "+strings.Join(names, ", "))
			w.bag.AddHint(w.position(key), diag.UnknownKey, hint, "unknown key %q in %s", key.Value, m.Name)
			return
		}
		w.value(value, m.Keys[i], field(v, key.Value))
	})
	if seen != nil {
		w.combinations(n, m, seen)
	}
}

// entries calls read for every entry of n whose key is a text and was not there before, and returns the keys. It returns nil
// if n is not a mapping. Errors name the mapping and its form.
func (w *walker) entries(n *yaml.Node, in, form string, read func(key, value *yaml.Node)) map[string]*yaml.Node {
	if n.Kind != yaml.MappingNode {
		w.bag.Add(w.position(n), diag.WrongType, "%s must be %s, is %s", in, form, describe(n))
		return nil
	}
	seen := make(map[string]*yaml.Node)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			w.bag.Add(w.position(key), diag.WrongType, "a key of %s must be text, is %s", in, describe(key))
			continue
		}
		if first, ok := seen[key.Value]; ok {
			w.bag.Add(w.position(key), diag.DuplicateKey, "duplicate key %q in %s, first in line %d", key.Value, in, first.Line)
			continue
		}
		seen[key.Value] = key
		read(key, value)
	}
	return seen
}

// combinations checks which keys stand beside each other.
func (w *walker) combinations(n *yaml.Node, m Mapping, seen map[string]*yaml.Node) {
	groups := make(map[string]string)
	for _, k := range m.Keys {
		at, ok := seen[k.Name]
		if !ok {
			if k.Required {
				w.bag.Add(w.position(n), diag.MissingKey, "%s has no key %q", m.Name, k.Name)
			}
			continue
		}
		if other, taken := groups[k.Group]; taken && k.Group != "" {
			w.bag.Add(w.position(at), diag.Conflict, "%s cannot have both %q and %q", m.Name, other, k.Name)
		}
		groups[k.Group] = k.Name
		if len(k.With) > 0 && !slices.ContainsFunc(k.With, func(s string) bool { return seen[s] != nil }) {
			w.bag.Add(w.position(at), diag.MissingKey, "key %q of %s needs the key %s", k.Name, m.Name, either(k.With, `"`))
		}
	}
	if _, ok := groups[m.Need]; !ok && m.Need != "" {
		w.bag.Add(w.position(n), diag.MissingKey, "%s needs one of the keys %s", m.Name, either(group(m, m.Need, ""), `"`))
	}
}

// either joins words in quotes to `"a", "b" or "c"`.
func either(words []string, quote string) string {
	quoted := slice.Map(words, func(word string) string { return quote + word + quote })
	last := len(words) - 1
	if last == 0 {
		return quoted[0]
	}
	return strings.Join(quoted[:last], ", ") + " or " + quoted[last]
}

// empty reports whether a value is missing, for example because all lines of a list are
// comments. A missing list has no elements.
func empty(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// list reads a list of mappings into the slice v.
func (w *walker) list(n *yaml.Node, k Key, v reflect.Value) {
	if empty(n) {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		return
	}
	if n.Kind != yaml.SequenceNode {
		w.bag.Add(w.position(n), diag.WrongType, "%s must be a list, is %s", k.Name, describe(n))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, e := range n.Content {
		w.mapping(e, w.language.mapping(k.Of), v.Index(i))
	}
}

// named reads a mapping of names to structs.
func (w *walker) named(n *yaml.Node, k Key) (out []Struct) {
	if empty(n) {
		return nil
	}
	w.entries(n, k.Name, "a mapping", func(key, value *yaml.Node) {
		s := Struct{Name: w.text(key, Key{Name: k.Name, Kind: KindName})}
		w.mapping(value, w.language.mapping(k.Of), reflect.ValueOf(&s).Elem())
		out = append(out, s)
	})
	return out
}

// pairs reads a mapping of paths to scalars.
func (w *walker) pairs(n *yaml.Node, k Key) (out []Pair) {
	w.entries(n, k.Name, "a mapping of paths to values", func(key, value *yaml.Node) {
		out = append(out, Pair{
			Key:   w.text(key, Key{Name: k.Name, Kind: KindPath}),
			Value: w.text(value, Key{Name: k.Name, Kind: KindLiteral}),
		})
	})
	return out
}

// field returns the field of the tree's struct v for a key: its own field, or the arguments of
// a rule. A test checks that every key of the language has one.
func field(v reflect.Value, key string) reflect.Value {
	var arguments reflect.Value
	for i := range v.NumField() {
		switch v.Type().Field(i).Tag.Get("key") {
		case key:
			return v.Field(i)
		case "*":
			arguments = v.Field(i)
		}
	}
	return arguments
}

// describe describes a node for error messages.
func describe(n *yaml.Node) string {
	kinds := map[yaml.Kind]string{
		yaml.MappingNode: "a mapping", yaml.SequenceNode: "a list", yaml.AliasNode: "an alias, which descriptors cannot have",
	}
	scalars := map[string]string{
		"!!null": "empty", "!!bool": "a bool", "!!int": "a number", "!!float": "a number", "!!str": "text",
	}
	return cmp.Or(kinds[n.Kind], scalars[n.ShortTag()], "tagged "+n.ShortTag())
}
