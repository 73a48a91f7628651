package resource

import (
	"errors"
	"strings"

	xdstypev3 "github.com/cncf/xds/go/xds/type/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsforge/xdsforge/framework/runtime/wire"
)

// A TypedConfig is the configuration of an extension, unpacked from its google.protobuf.Any and
// from a TypedStruct inside it.
type TypedConfig struct {
	// Message is the full name of the configuration's message.
	Message string
	// Fields are the fields of a TypedStruct. It is nil if the message is encoded.
	Fields *structpb.Struct

	encoded []byte
	budget  *wire.Budget
}

// OpenTypedConfig is the function [OpenTypedConfig] within the limits of the resource.
func (dc *DecodeContext) OpenTypedConfig(a *anypb.Any) (TypedConfig, error) {
	return openTypedConfig(dc.budget(), a)
}

// OpenTypedConfig unpacks the configuration in an Any. An xds.type.v3.TypedStruct or
// udpa.type.v1.TypedStruct stands for the message that it names (gRFCs A39, A52).
func OpenTypedConfig(a *anypb.Any) (TypedConfig, error) { return openTypedConfig(nil, a) }

func openTypedConfig(budget *wire.Budget, a *anypb.Any) (TypedConfig, error) {
	if a == nil {
		return TypedConfig{}, errors.New("must be set")
	}
	c := TypedConfig{Message: messageOf(a.GetTypeUrl()), encoded: a.GetValue(), budget: budget}
	switch c.Message {
	case "xds.type.v3.TypedStruct", "udpa.type.v1.TypedStruct": // both have the same encoding
		typed := new(xdstypev3.TypedStruct)
		if err := unmarshal(budget, a.GetValue(), typed); err != nil {
			return TypedConfig{}, err
		}
		c = TypedConfig{Message: messageOf(typed.GetTypeUrl()), Fields: typed.GetValue(), budget: budget}
		if c.Fields == nil {
			c.Fields = new(structpb.Struct)
		}
	}
	if c.Message == "" {
		return TypedConfig{}, errors.New("type_url = \"\"; must name a message")
	}
	return c, nil
}

// OpenEncodedConfig is [OpenTypedConfig] of an encoded google.protobuf.Any, within the limits of
// the resource. Nil is no Any.
func (dc *DecodeContext) OpenEncodedConfig(b []byte) (TypedConfig, error) {
	if b == nil {
		return OpenTypedConfig(nil)
	}
	var a anypb.Any
	r := wire.Read(b)
	wire.Any(&r, &a)
	if !r.OK() {
		return TypedConfig{}, wire.Unparseable("google.protobuf.Any", wire.Malformed(b, (*anypb.Any)(nil)))
	}
	return dc.OpenTypedConfig(&a)
}

// Unmarshal reads the configuration, in either form, into m. It returns an error if the bytes, or
// the fields of the TypedStruct, are not such a message.
func (c TypedConfig) Unmarshal(m proto.Message) error {
	want := string(m.ProtoReflect().Descriptor().FullName())
	if c.Message != want {
		return errors.New("is a " + c.Message + "; must be a " + want)
	}
	if c.Fields == nil {
		return unmarshal(c.budget, c.encoded, m)
	}
	text, err := protojson.Marshal(c.Fields)
	if err == nil && !c.budget.Elements(len(text), jsonCost) {
		return tooLarge("", c.budget.Excess())
	}
	if err == nil {
		err = protojson.Unmarshal(text, m)
	}
	if err != nil {
		return wire.Unparseable(want, err)
	}
	return nil
}

// Encoded returns the encoded configuration, a message of m's type, for readers of package wire.
// The bytes are guaranteed to be well-formed. Only m's type is used. It returns the errors of
// [TypedConfig.Unmarshal].
func (c TypedConfig) Encoded(m proto.Message) ([]byte, error) {
	if c.Fields == nil && c.Message == string(m.ProtoReflect().Descriptor().FullName()) {
		if r := c.budget.Within(c.encoded); r.Check(m) {
			return c.encoded, nil
		}
	}
	message := m.ProtoReflect().New().Interface()
	if err := c.Unmarshal(message); err != nil {
		return nil, err
	}
	b, err := proto.Marshal(message)
	if err != nil {
		return nil, wire.Unparseable(c.Message, err)
	}
	return b, nil
}

// jsonCost is the cost, in bytes, of one byte of JSON that is read into a message.
const jsonCost = 16

// messageOf returns the message name at the end of a type URL.
func messageOf(url string) string { return url[strings.LastIndexByte(url, '/')+1:] }
