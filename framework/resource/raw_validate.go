package resource

import (
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
)

// validateRaw runs a message's protoc-gen-validate method. If it has none, it checks the options of
// protoc-gen-validate in the message's descriptor.
func (a *annotations) validateRaw(m proto.Message) error {
	var v Violations
	var err error
	switch m := m.(type) {
	case interface{ ValidateAll() error }:
		err = m.ValidateAll()
	case interface{ Validate() error }:
		err = m.Validate()
	default:
		a.message(&v, Path{}, m.ProtoReflect())
		return v.Err()
	}
	if err == nil {
		return nil
	}
	addRaw(&v, Path{}, m.ProtoReflect(), err)
	return v.Err()
}

// rawError has the methods that errors of protoc-gen-validate share.
type rawError interface {
	error
	Field() string
	Reason() string
	Cause() error
}

// addRaw adds the violations in err of m, the message at p. If m is not known, the paths are those
// in err.
func addRaw(v *Violations, p Path, m protoreflect.Message, err error) {
	if all, ok := err.(interface{ AllErrors() []error }); ok {
		for _, one := range all.AllErrors() {
			addRaw(v, p, m, one)
		}
		return
	}
	e, ok := err.(rawError) //nolint:errorlint // generated code wraps none
	if !ok {
		v.AddError(p, err)
		return
	}
	name, value := rawField(m, e.Field())
	at := p.Field(name)
	if cause := e.Cause(); cause != nil {
		inner, _ := value.(protoreflect.Message)
		addRaw(v, at, inner, cause)
		return
	}
	v.Add(at, rawValue(value), e.Reason())
}

// rawField finds a field by its name in a protoc-gen-validate error: its Go name, perhaps followed
// by an index or key. The value is nil if it cannot be read.
func rawField(m protoreflect.Message, field string) (name string, value any) {
	goName, index, indexed := strings.Cut(strings.TrimSuffix(field, "]"), "[")
	if m == nil {
		return field, nil
	}
	same := func(name protoreflect.Name) bool {
		return strings.EqualFold(strings.ReplaceAll(string(name), "_", ""), strings.ReplaceAll(goName, "_", ""))
	}
	fields, oneofs := m.Descriptor().Fields(), m.Descriptor().Oneofs()
	for i := range fields.Len() {
		f := fields.Get(i)
		if !same(f.Name()) {
			continue
		}
		name = string(f.Name())
		if indexed {
			return name + "[" + index + "]", rawElement(m.Get(f), f, index)
		}
		return name, m.Get(f).Interface()
	}
	for i := range oneofs.Len() {
		if same(oneofs.Get(i).Name()) {
			return string(oneofs.Get(i).Name()), nil
		}
	}
	return field, nil
}

// rawElement returns an element of a list, or of a map with string keys.
func rawElement(value protoreflect.Value, f protoreflect.FieldDescriptor, index string) any {
	switch {
	case f.IsList():
		i, err := strconv.Atoi(index)
		if err == nil && i >= 0 && i < value.List().Len() {
			return value.List().Get(i).Interface()
		}
	case f.IsMap() && f.MapKey().Kind() == protoreflect.StringKind:
		if v := value.Map().Get(protoreflect.ValueOfString(index).MapKey()); v.IsValid() {
			return v.Interface()
		}
	}
	return nil
}

// rawValue returns a value as a violation shows it. Messages are shown only if they stand for a
// scalar or a time.
func rawValue(value any) any {
	switch x := value.(type) {
	case protoreflect.Message:
		if !x.IsValid() {
			return nil
		}
		fields := x.Descriptor().Fields()
		if x.Descriptor().FullName() == "google.protobuf.Duration" {
			d := durationpb.Duration{Seconds: x.Get(fields.ByName("seconds")).Int(), Nanos: int32(x.Get(fields.ByName("nanos")).Int())} //nolint:gosec // an int32
			return d.AsDuration()
		}
		if x.Descriptor().FullName().Parent() == "google.protobuf" && fields.Len() == 1 && fields.Get(0).Name() == "value" {
			return x.Get(fields.Get(0)).Interface()
		}
		return nil
	case protoreflect.List, protoreflect.Map, []byte:
		return nil
	default:
		return value
	}
}
