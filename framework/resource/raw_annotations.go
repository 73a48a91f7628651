package resource

import (
	"fmt"
	"regexp"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// annotations checks messages by the protoc-gen-validate options in their descriptors. It is for
// messages without the generated method ValidateAll. The zero value is ready.
type annotations struct {
	patterns sync.Map // by text: compiled regular expressions
}

// message checks a message at p and the messages in it.
func (a *annotations) message(v *Violations, p Path, m protoreflect.Message) {
	d := m.Descriptor()
	if enabled(d.Options(), "validate.disabled") || enabled(d.Options(), "validate.ignored") {
		return
	}
	for i := range d.Oneofs().Len() {
		if o := d.Oneofs().Get(i); enabled(o.Options(), "validate.required") && m.WhichOneof(o) == nil {
			v.Add(p.Field(string(o.Name())), nil, "value is required")
		}
	}
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		rules := ruleOf(option(f.Options(), "validate.rules"))
		switch at := p.Field(string(f.Name())); {
		case f.IsMap():
			a.entries(v, p, f, m.Get(f).Map(), rules)
		case f.IsList():
			a.elements(v, p, f, m.Get(f).List(), rules)
		case f.HasPresence() && !m.Has(f):
			if o := f.ContainingOneof(); rules.required && (o == nil || o.IsSynthetic()) {
				v.Add(at, nil, "value is required")
			}
		default:
			a.value(v, at, f, m.Get(f), rules)
		}
	}
}

// rules are the options of one value.
type rules struct {
	required, skip bool
	of             protoreflect.Message // such as UInt32Rules; nil: none
}

// ruleOf returns the options in a FieldRules message, which may be nil.
func ruleOf(fieldRules protoreflect.Message) rules {
	var out rules
	if fieldRules == nil {
		return out
	}
	fieldRules.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if f.Message() == nil {
			return true
		}
		inner := v.Message()
		out.required = out.required || flag(inner, "required")
		if f.Name() == "message" {
			out.skip = flag(inner, "skip")
		} else {
			out.of = inner
		}
		return true
	})
	return out
}

// value checks one value.
func (a *annotations) value(v *Violations, p Path, f protoreflect.FieldDescriptor, x protoreflect.Value, r rules) {
	if f.Message() == nil {
		a.scalar(v, p, f, x, r.of)
		return
	}
	m := x.Message()
	inner := m.Descriptor().Fields()
	switch name := m.Descriptor().FullName(); {
	case name.Parent() == "google.protobuf" && inner.Len() == 1 && inner.Get(0).Name() == "value":
		a.scalar(v, p, inner.Get(0), m.Get(inner.Get(0)), r.of)
	case name == "google.protobuf.Any":
		a.scalar(v, p, f, m.Get(inner.ByName("type_url")), r.of)
	case name == "google.protobuf.Duration", name == "google.protobuf.Timestamp":
		a.scalar(v, p, f, x, r.of)
	case !r.skip:
		a.message(v, p, m)
	}
}

// elements checks a repeated field of the message at p.
func (a *annotations) elements(v *Violations, p Path, f protoreflect.FieldDescriptor, list protoreflect.List, r rules) {
	a.count(v, p.Field(string(f.Name())), list.Len(), r.of, "items")
	items := ruleOf(inside(r.of, "items"))
	seen := make(map[any]bool)
	for i := range list.Len() {
		at := p.Item(string(f.Name()), i)
		if x := list.Get(i); f.Message() == nil && r.of != nil && flag(r.of, "unique") {
			key := any(x.String())
			if seen[key] {
				v.Add(at, rawValue(x.Interface()), "repeated value must contain unique items")
			}
			seen[key] = true
		}
		a.value(v, at, f, list.Get(i), items)
	}
}

// entries checks a map of the message at p.
func (a *annotations) entries(v *Violations, p Path, f protoreflect.FieldDescriptor, values protoreflect.Map, r rules) {
	a.count(v, p.Field(string(f.Name())), values.Len(), r.of, "pairs")
	keyRules, valueRules := ruleOf(inside(r.of, "keys")), ruleOf(inside(r.of, "values"))
	values.Range(func(k protoreflect.MapKey, x protoreflect.Value) bool {
		at := p.Field(fmt.Sprintf("%s[%v]", f.Name(), k.Interface()))
		a.value(v, at, f.MapKey(), k.Value(), keyRules)
		a.value(v, at, f.MapValue(), x, valueRules)
		return true
	})
}

// count checks a number of elements or pairs.
func (a *annotations) count(v *Violations, p Path, n int, r protoreflect.Message, unit string) {
	if r == nil || n == 0 && flag(r, "ignore_empty") {
		return
	}
	if lo, ok := get(r, "min_"+unit); ok && uint64(n) < lo.Uint() { //nolint:gosec // a length
		v.Add(p, nil, fmt.Sprintf("value must contain at least %d item(s)", lo.Uint()))
	}
	if hi, ok := get(r, "max_"+unit); ok && uint64(n) > hi.Uint() { //nolint:gosec // a length
		v.Add(p, nil, fmt.Sprintf("value must contain no more than %d item(s)", hi.Uint()))
	}
}

// matches reports whether a text matches a regular expression of an option.
func (a *annotations) matches(pattern, text string) bool {
	re, ok := a.patterns.Load(pattern)
	if !ok {
		compiled, err := regexp.Compile(pattern)
		if err != nil {
			return false
		}
		re, _ = a.patterns.LoadOrStore(pattern, compiled)
	}
	return re.(*regexp.Regexp).MatchString(text)
}

// option returns the message in an extension of options, nil if there is none.
func option(options proto.Message, name protoreflect.FullName) (found protoreflect.Message) {
	options.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if f.IsExtension() && f.FullName() == name && f.Message() != nil {
			found = v.Message()
		}
		return found == nil
	})
	return found
}

// enabled reports whether an extension of options is true.
func enabled(options proto.Message, name protoreflect.FullName) (on bool) {
	options.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		on = f.IsExtension() && f.FullName() == name && f.Kind() == protoreflect.BoolKind && v.Bool()
		return !on
	})
	return on
}

// get returns a field of an option, if it is set.
func get(m protoreflect.Message, name string) (protoreflect.Value, bool) {
	f := m.Descriptor().Fields().ByName(protoreflect.Name(name))
	if f == nil || !m.Has(f) {
		return protoreflect.Value{}, false
	}
	return m.Get(f), true
}

func flag(m protoreflect.Message, name string) bool {
	f := m.Descriptor().Fields().ByName(protoreflect.Name(name))
	return f != nil && f.Kind() == protoreflect.BoolKind && m.Get(f).Bool()
}

// inside returns a message in an option, or nil.
func inside(m protoreflect.Message, name string) protoreflect.Message {
	if m == nil {
		return nil
	}
	if v, ok := get(m, name); ok {
		return v.Message()
	}
	return nil
}
