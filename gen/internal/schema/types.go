package schema

import (
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// object is a JSON object.
type object = map[string]any

// message returns a reference to the definition of a message. It adds the definition.
func (w *writer) message(m *protogen.Message) object {
	if s := wellKnown(m); s != nil {
		return s
	}
	name := string(m.Desc.FullName())
	if _, ok := w.defs[name]; !ok {
		def := object{"type": "object", "additionalProperties": false}
		w.defs[name] = def // before the fields, which can refer to it
		describe(def, w.comments.Message(m))
		properties := make(object, len(m.Fields))
		for _, f := range m.Fields {
			s := w.field(f)
			describe(s, w.comments.Field(f))
			properties[string(f.Desc.Name())] = s
		}
		def["properties"] = properties
		if all := exclusive(m); len(all) > 0 {
			def["allOf"] = all
		}
	}
	return object{"$ref": "#/$defs/" + name}
}

func describe(s object, comment string) {
	if comment != "" {
		s["description"] = comment
	}
}

// exclusive has a schema for each oneof: at most one of its members is set.
func exclusive(m *protogen.Message) []any {
	var all []any
	for _, o := range m.Oneofs {
		if o.Desc.IsSynthetic() || len(o.Fields) < 2 {
			continue
		}
		none := object{"not": object{"anyOf": members(o)}}
		all = append(all, object{"oneOf": append([]any{none}, members(o)...)})
	}
	return all
}

// members has a schema for each member of a oneof: it is set.
func members(o *protogen.Oneof) []any {
	return slice.Map(o.Fields, func(f *protogen.Field) any { return has(string(f.Desc.Name())) })
}

// has is the schema of objects with a property.
func has(name string) object { return object{"required": []string{name}} }

// field returns the schema of a field.
func (w *writer) field(f *protogen.Field) object {
	switch {
	case f.Desc.IsMap():
		return object{"type": "object", "additionalProperties": w.single(f.Message.Fields[1])}
	case f.Desc.IsList():
		return object{"type": "array", "items": w.single(f)}
	}
	return w.single(f)
}

// single returns the schema of one value of a field.
func (w *writer) single(f *protogen.Field) object {
	switch {
	case f.Message != nil:
		return w.message(f.Message)
	case f.Enum != nil:
		names := slice.Map(f.Enum.Values, model.ValueName)
		return object{"anyOf": []any{object{"enum": names}, object{"type": "integer"}}}
	}
	return scalar(f.Desc.Kind())
}

func scalar(kind protoreflect.Kind) object {
	whole := func(lo, hi float64) object { return object{"type": "integer", "minimum": lo, "maximum": hi} }
	switch kind {
	case protoreflect.BoolKind:
		return object{"type": "boolean"}
	case protoreflect.StringKind, protoreflect.BytesKind:
		return object{"type": "string"}
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return object{"anyOf": []any{object{"type": "number"}, object{"enum": []string{"NaN", "Infinity", "-Infinity"}}}}
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return whole(-1<<31, 1<<31-1)
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return whole(0, 1<<32-1)
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return object{"anyOf": []any{object{"type": "integer", "minimum": 0}, object{"type": "string", "pattern": "^[0-9]+$"}}}
	default:
		return object{"anyOf": []any{object{"type": "integer"}, object{"type": "string", "pattern": "^-?[0-9]+$"}}}
	}
}

// wellKnown returns the schema of a message with a JSON form of its own, or nil.
func wellKnown(m *protogen.Message) object {
	if m.Desc.ParentFile().Package() != "google.protobuf" {
		return nil
	}
	forms := map[protoreflect.Name]object{
		"Any":       {"type": "object", "properties": object{"@type": object{"type": "string"}}},
		"Duration":  {"type": "string", "pattern": `^-?[0-9]+(\.[0-9]{1,9})?s$`},
		"Timestamp": {"type": "string", "format": "date-time"},
		"FieldMask": {"type": "string"},
		"Struct":    {"type": "object"},
		"Value":     {},
		"ListValue": {"type": "array"},
	}
	if model.IsWrapper(m) {
		return scalar(m.Fields[0].Desc.Kind())
	}
	return forms[m.Desc.Name()]
}
