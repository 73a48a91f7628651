package annotation

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
)

// Index finds the extensions of the libraries.
type Index interface {
	// Extension returns the extension of a message with the number, nil if it is unknown.
	Extension(of protoreflect.FullName, number protoreflect.FieldNumber) *protogen.Extension
}

// A source is a library whose options are read.
type source struct {
	why    string           // of its rules
	number protowire.Number // of its options of fields, of oneofs and of messages
}

// sources are the libraries.
func sources() []source { return []source{{"PGV", 1071}, {"protovalidate", 1159}} }

// Reason reports whether the reason of a rule is that it is derived from an annotation.
func Reason(why string) bool {
	return slices.ContainsFunc(sources(), func(s source) bool { return s.why == why })
}

// extension returns the value of an extension among options. It is invalid if it is not set. It returns an error if the
// value cannot be read.
func extension(options proto.Message, number protowire.Number, x Index) (protoreflect.Value, error) {
	data, err := proto.Marshal(options)
	if err != nil || len(data) == 0 {
		return protoreflect.Value{}, err
	}
	of := options.ProtoReflect().Descriptor()
	declared := x.Extension(of.FullName(), number)
	if declared == nil {
		if slices.Contains(unknown(options.ProtoReflect()), number) {
			err = fmt.Errorf("no proto file declares option %d of %s", number, of.FullName())
		}
		return protoreflect.Value{}, err
	}
	typ, types := dynamicpb.NewExtensionType(declared.Desc), new(protoregistry.Types)
	if err := types.RegisterExtension(typ); err != nil {
		return protoreflect.Value{}, err
	}
	m := dynamicpb.NewMessage(of)
	if err := (proto.UnmarshalOptions{Resolver: types}).Unmarshal(data, m); err != nil || !m.Has(typ.TypeDescriptor()) {
		return protoreflect.Value{}, err
	}
	return m.Get(typ.TypeDescriptor()), nil
}

// unknown returns the numbers of the fields of a message that its descriptor does not declare, sorted.
func unknown(m protoreflect.Message) []protowire.Number {
	var numbers []protowire.Number
	for data := m.GetUnknown(); len(data) > 0; {
		number, _, n := protowire.ConsumeField(data)
		if n < 0 {
			break
		}
		data, numbers = data[n:], append(numbers, number)
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// rules returns the rules among the options of a field or message, nil where it has none.
func (s source) rules(options proto.Message, x Index) (protoreflect.Message, error) {
	v, err := extension(options, s.number, x)
	rules, _ := v.Interface().(protoreflect.Message)
	return rules, err
}

// fieldRules returns the rules of a field that can be read, nil where it has none.
func (s source) fieldRules(f *protogen.Field, x Index) protoreflect.Message {
	rules, _ := s.rules(f.Desc.Options(), x)
	return rules
}

// flag reports whether an option is true, or a message with a field that is true.
func flag(options proto.Message, number protowire.Number, field protoreflect.Name, x Index) bool {
	v, _ := extension(options, number, x) // an option that cannot be read is not set
	if rules, ok := v.Interface().(protoreflect.Message); ok {
		f := rules.Descriptor().Fields().ByName(field)
		return f != nil && f.Kind() == protoreflect.BoolKind && rules.Get(f).Bool()
	}
	set, _ := v.Interface().(bool)
	return set
}

// requiredOneof reports whether a member of a oneof must be set.
func (s source) requiredOneof(o *protogen.Oneof, x Index) bool {
	return !o.Desc.IsSynthetic() && flag(o.Desc.Options(), s.number, "required", x)
}

// disabled reports whether the message has an option that disables or ignores its rules: validate.disabled,
// validate.ignored, or the field of old versions of buf.validate.MessageRules. The libraries do not check the messages in it
// either.
func (s source) disabled(m *protogen.Message, x Index) bool {
	return flag(m.Desc.Options(), s.number, "disabled", x) || s.why == "PGV" && flag(m.Desc.Options(), s.number+1, "", x)
}
