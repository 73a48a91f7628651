package descriptor

import (
	"encoding/json"
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"slices"

	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// SchemaID is where the published schema is found.
const SchemaID = "https://raw.githubusercontent.com/xdsforge/xdsforge/main/docs/resource.schema.json"

// object is an object of a JSON Schema.
type object = map[string]any

// Schema returns the language as a JSON Schema (draft 7), for editors that complete and
// check descriptors. It accepts the same documents as [Language.Parse], except that no schema can
// detect duplicate keys.
func (l Language) Schema() ([]byte, error) {
	definitions := make(object)
	for _, m := range l {
		definitions[m.Name] = mappingSchema(m)
	}
	root := l[0]
	out, err := json.MarshalIndent(object{
		"$schema":     "http://json-schema.org/draft-07/schema#",
		"$id":         SchemaID,
		"title":       "xdsforge resource descriptor",
		"description": root.Doc,
		"$ref":        "#/definitions/" + root.Name,
		"definitions": definitions,
	}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("descriptor: %w", err)
	}
	return append(out, '\n'), nil
}

// mappingSchema is one mapping of the language.
func mappingSchema(m Mapping) object {
	properties, required := make(object), []string{}
	beside := make(object) // by key: its requirements for other keys
	for _, k := range m.Keys {
		s := keySchema(k)
		s["description"] = k.Doc
		properties[k.Name] = s
		if k.Required {
			required = append(required, k.Name)
		}
		if conds := besideSchema(m, k); len(conds) > 0 {
			beside[k.Name] = object{"allOf": conds}
		}
	}
	out := object{"type": "object", "description": m.Doc, "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		out["required"] = required
	}
	if len(beside) > 0 {
		out["dependencies"] = beside
	}
	if m.Need != "" {
		out["anyOf"] = requireOne(group(m, m.Need, ""))
	}
	return out
}

// besideSchema returns the requirements of k for the other keys of its mapping.
func besideSchema(m Mapping, k Key) []object {
	var conds []object
	if len(k.With) > 0 {
		conds = append(conds, object{"anyOf": requireOne(k.With)})
	}
	if others := group(m, k.Group, k.Name); k.Group != "" && len(others) > 0 {
		conds = append(conds, object{"not": object{"anyOf": requireOne(others)}})
	}
	return conds
}

// group is the names of the keys of a group, but for one.
func group(m Mapping, name, but string) []string {
	keys := slice.Filter(m.Keys, func(k Key) bool { return k.Group == name && k.Name != but })
	return slice.Map(keys, func(k Key) string { return k.Name })
}

// requireOne returns one alternative for each key, which requires that key.
func requireOne(keys []string) []object {
	return slice.Map(keys, func(key string) object { return object{"required": []string{key}} })
}

// keySchema returns the schema of a key's value.
func keySchema(k Key) object {
	ref, scalars := object{"$ref": "#/definitions/" + k.Of}, scalarKinds()
	switch k.Kind {
	case KindChoice:
		return object{"enum": k.Choices}
	case KindMapping:
		return object{"allOf": []object{ref}}
	case KindList:
		return object{"type": []string{"array", "null"}, "items": ref}
	case KindNamed:
		return object{"type": []string{"object", "null"}, "propertyNames": scalars[KindName].schema, "additionalProperties": ref}
	case KindPairs:
		return object{"type": "object", "propertyNames": scalars[KindPath].schema, "additionalProperties": scalars[KindLiteral].schema}
	default:
		if list, ok := lists()[k.Kind]; ok {
			return object{"anyOf": []object{scalars[list.one].schema, {"type": "array", "minItems": 1, "items": scalars[list.many].schema}}}
		}
		return maps.Clone(scalars[k.Kind].schema)
	}
}

// reserved are the identifiers that a function of a descriptor cannot have.
func reserved() []string {
	out := slices.Concat([]string{"_", "init", "main"}, types.Universe.Names())
	for t := token.BREAK; t <= token.VAR; t++ {
		out = append(out, t.String())
	}
	slices.Sort(out)
	return out
}
