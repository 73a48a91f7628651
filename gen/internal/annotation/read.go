package annotation

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// Index finds the messages and extensions of the libraries.
type Index interface {
	Message(name string) (*protogen.Message, error)
	// Extension returns the extension of a message with the number, nil if it is unknown.
	Extension(of protoreflect.FullName, number protoreflect.FieldNumber) *protogen.Extension
}

// A source is a library whose options are read.
type source struct {
	why     string // of its rules
	rules   string // the message of its option of fields
	message string // the message of its option of messages; empty: it has none
	number  protowire.Number
}

// sources are the libraries. The options of each have the same number.
func sources() []source {
	return []source{
		{"PGV", "validate.FieldRules", "", 1071},
		{"protovalidate", "buf.validate.FieldRules", "buf.validate.MessageRules", 1159},
	}
}

// Reason reports whether the reason of a rule is that it is derived from an annotation.
func Reason(why string) bool {
	return slices.ContainsFunc(sources(), func(s source) bool { return s.why == why })
}

// extension returns the values of an extension among options, encoded.
func extension(options proto.Message, number protowire.Number) [][]byte {
	data, err := proto.Marshal(options)
	if err != nil {
		return nil
	}
	var out [][]byte
	for len(data) > 0 {
		num, typ, n := protowire.ConsumeTag(data)
		if n < 0 {
			return out
		}
		size := protowire.ConsumeFieldValue(num, typ, data[n:])
		if size < 0 {
			return out
		}
		if num == number {
			value := data[n : n+size]
			if typ == protowire.BytesType {
				value, _ = protowire.ConsumeBytes(value)
			}
			out = append(out, value)
		}
		data = data[n+size:]
	}
	return out
}

// fieldRules returns the rules of a field, nil where it has none.
func (s source) fieldRules(f *protogen.Field, x Index) protoreflect.Message {
	rules, _ := s.option(f.Desc.Options(), s.rules, x)
	return rules
}

// messageRules returns the rules of a message as a whole, nil where it has none.
func (s source) messageRules(m *protogen.Message, x Index) protoreflect.Message {
	if s.message == "" {
		return nil
	}
	rules, _ := s.option(m.Desc.Options(), s.message, x)
	return rules
}

// option returns the option of the library, a message of the given type, or nil. It returns an error if there is one
// that it cannot read.
func (s source) option(options proto.Message, name string, x Index) (protoreflect.Message, error) {
	values := extension(options, s.number)
	if len(values) == 0 || name == "" {
		return nil, nil
	}
	typ, err := x.Message(name)
	if err != nil {
		return nil, err
	}
	m := dynamicpb.NewMessage(typ.Desc)
	for _, v := range values {
		if err := (proto.UnmarshalOptions{Merge: true}).Unmarshal(v, m); err != nil {
			return nil, fmt.Errorf("the option is not a %s: %w", name, err)
		}
	}
	return m, nil
}

// requiredOneof reports whether a member of a oneof must be set.
func (s source) requiredOneof(o *protogen.Oneof) bool {
	for _, v := range extension(o.Desc.Options(), s.number) {
		if s.why == "PGV" {
			required, n := protowire.ConsumeVarint(v)
			return n > 0 && required != 0
		}
		for len(v) > 0 { // field 1 of buf.validate.OneofRules
			num, typ, n := protowire.ConsumeTag(v)
			if n < 0 {
				return false
			}
			if num == 1 && typ == protowire.VarintType {
				required, _ := protowire.ConsumeVarint(v[n:])
				return required != 0
			}
			v = v[n+max(protowire.ConsumeFieldValue(num, typ, v[n:]), 0):]
		}
	}
	return false
}

// disabled reports whether the message has an option that disables or ignores its rules.
// The libraries do not check the messages in it either.
func (s source) disabled(m *protogen.Message, x Index) bool {
	if s.why != "PGV" {
		rules := s.messageRules(m, x)
		if rules == nil {
			return false
		}
		f := rules.Descriptor().Fields().ByName("disabled") // of old versions
		return f != nil && f.Kind() == protoreflect.BoolKind && rules.Get(f).Bool()
	}
	for _, number := range []protowire.Number{1071, 1072} { // validate.disabled, validate.ignored
		for _, v := range extension(m.Desc.Options(), number) {
			if b, n := protowire.ConsumeVarint(v); n > 0 && b != 0 {
				return true
			}
		}
	}
	return false
}
