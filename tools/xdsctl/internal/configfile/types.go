package configfile

import (
	"fmt"
	"os"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// Types finds messages by their names: those that the program links, and those of descriptor sets.
// The zero value has only the former.
type Types struct{ sets []*dynamicpb.Types }

// NewTypes reads files with an encoded FileDescriptorSet, as `protoc --include_imports -o` writes
// them.
func NewTypes(sets ...string) (*Types, error) {
	t := new(Types)
	for _, path := range sets {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		set := new(descriptorpb.FileDescriptorSet)
		if err := proto.Unmarshal(data, set); err != nil {
			return nil, fmt.Errorf("%s: not an encoded FileDescriptorSet: %w", path, err)
		}
		files, err := protodesc.NewFiles(set)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		t.sets = append(t.sets, dynamicpb.NewTypes(files))
	}
	return t, nil
}

// FindMessageByName implements the resolver of package protojson. Linked messages have precedence.
func (t *Types) FindMessageByName(name protoreflect.FullName) (protoreflect.MessageType, error) {
	m, err := protoregistry.GlobalTypes.FindMessageByName(name)
	if err == nil {
		return m, nil
	}
	for _, set := range t.sets {
		if m, err := set.FindMessageByName(name); err == nil {
			return m, nil
		}
	}
	return nil, err
}

// FindMessageByURL implements the resolver of package protojson.
func (t *Types) FindMessageByURL(url string) (protoreflect.MessageType, error) {
	return t.FindMessageByName(protoreflect.FullName(MessageName(url)))
}

// FindExtensionByName implements the resolver of package protojson.
func (t *Types) FindExtensionByName(name protoreflect.FullName) (protoreflect.ExtensionType, error) {
	return protoregistry.GlobalTypes.FindExtensionByName(name)
}

// FindExtensionByNumber implements the resolver of package protojson.
func (t *Types) FindExtensionByNumber(m protoreflect.FullName, n protoreflect.FieldNumber) (protoreflect.ExtensionType, error) {
	return protoregistry.GlobalTypes.FindExtensionByNumber(m, n)
}

// MessageName returns the name of the message of a type URL.
func MessageName(url string) string { return url[strings.LastIndexByte(url, '/')+1:] }

// withUnknown finds a message without fields in the place of each unknown one.
type withUnknown struct{ *Types }

// FindMessageByURL implements the resolver of package protojson.
func (t withUnknown) FindMessageByURL(url string) (protoreflect.MessageType, error) {
	m, err := t.Types.FindMessageByURL(url)
	if err == nil {
		return m, nil
	}
	name := protoreflect.FullName(MessageName(url))
	if !name.IsValid() {
		return nil, err
	}
	d, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: new("unknown.proto"), Package: new(string(name.Parent())), Syntax: new("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{{Name: new(string(name.Name()))}},
	}, nil)
	if err != nil {
		return nil, err
	}
	return dynamicpb.NewMessageType(d.Messages().Get(0)), nil
}
