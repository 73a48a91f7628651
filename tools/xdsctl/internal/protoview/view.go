// Package protoview shows messages as JSON. Messages of unknown types, and bytes that are not of
// their type, appear with their size. Fields that are marked as sensitive are hidden.
package protoview

import (
	"bytes"
	"encoding/json"

	"github.com/cncf/xds/go/udpa/annotations"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/configfile"
)

// maxNesting is the limit of messages within an Any within another one.
const maxNesting = 32

const hidden = "[redacted]"

// A Viewer shows messages.
type Viewer struct {
	types   *configfile.Types
	secrets bool
	unknown protoreflect.MessageType
}

// New returns a viewer. With secrets, it shows sensitive fields.
func New(types *configfile.Types, secrets bool) (*Viewer, error) {
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: new("unknown.proto"), Package: new("xdsctl"), Syntax: new("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{{Name: new("Unknown"), Field: []*descriptorpb.FieldDescriptorProto{{
			Name: new("unknown_message_bytes"), Number: new(int32(1)),
			Type: descriptorpb.FieldDescriptorProto_TYPE_UINT32.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
			Proto3Optional: new(true), OneofIndex: new(int32(0)),
		}}, OneofDecl: []*descriptorpb.OneofDescriptorProto{{Name: new("_unknown_message_bytes")}}}},
	}, nil)
	if err != nil {
		return nil, err
	}
	return &Viewer{types: types, secrets: secrets, unknown: dynamicpb.NewMessageType(file.Messages().Get(0))}, nil
}

// JSON returns a message in an Any as JSON, on one line. The fields have their names in protobuf.
func (v *Viewer) JSON(a *anypb.Any) (json.RawMessage, error) {
	w := walk{Viewer: v, as: make(map[string]bool)}
	shown := proto.CloneOf(a)
	w.any(shown, maxNesting)
	text, err := protojson.MarshalOptions{UseProtoNames: true, Resolver: w}.Marshal(shown)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = json.Compact(&b, text)
	return b.Bytes(), err
}

// A walk replaces the parts of one message that are not shown.
type walk struct {
	*Viewer
	as map[string]bool // type URLs that the walk gave to replacements
}

// unreadable precedes the type URL of a known message whose bytes are not of its type.
const unreadable = "unreadable/"

// any replaces the message in an Any if it is unknown or unreadable.
func (w walk) any(a *anypb.Any, depth int) {
	if a.GetTypeUrl() == "" && len(a.GetValue()) == 0 {
		return
	}
	typ, err := w.types.FindMessageByURL(a.GetTypeUrl())
	if err == nil && depth > 0 {
		m := typ.New()
		if proto.Unmarshal(a.GetValue(), m.Interface()) == nil {
			w.message(m, depth)
			if value, err := (proto.MarshalOptions{Deterministic: true}).Marshal(m.Interface()); err == nil {
				a.Value = value
				return
			}
		}
	}
	m := w.unknown.New()
	m.Set(m.Descriptor().Fields().Get(0), protoreflect.ValueOfUint32(uint32(min(len(a.GetValue()), 1<<31))))
	a.Value, _ = proto.Marshal(m.Interface())
	if err == nil {
		a.TypeUrl = unreadable + a.GetTypeUrl()
	}
	w.as[a.GetTypeUrl()] = true
}

// message replaces parts of a message.
func (w walk) message(m protoreflect.Message, depth int) {
	if a, ok := m.Interface().(*anypb.Any); ok {
		w.any(a, depth-1)
		return
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case !w.secrets && sensitive(fd):
			hide(m, fd)
		case fd.IsMap():
			if fd.MapValue().Message() != nil {
				v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
					w.message(v.Message(), depth)
					return true
				})
			}
		case fd.Message() == nil:
		case fd.IsList():
			for i := range v.List().Len() {
				w.message(v.List().Get(i).Message(), depth)
			}
		default:
			w.message(v.Message(), depth)
		}
		return true
	})
}

func sensitive(fd protoreflect.FieldDescriptor) bool {
	is, _ := proto.GetExtension(fd.Options(), annotations.E_Sensitive).(bool)
	return is
}

// hide replaces a sensitive field: text by a mark, a data source by an inline one, and others by
// nothing.
func hide(m protoreflect.Message, fd protoreflect.FieldDescriptor) {
	switch {
	case fd.IsList() || fd.IsMap():
		m.Clear(fd)
	case fd.Kind() == protoreflect.StringKind:
		m.Set(fd, protoreflect.ValueOfString(hidden))
	case fd.Kind() == protoreflect.BytesKind:
		m.Set(fd, protoreflect.ValueOfBytes([]byte(hidden)))
	case fd.Message() != nil && fd.Message().Fields().ByName("inline_string") != nil:
		inner := m.NewField(fd).Message()
		inner.Set(fd.Message().Fields().ByName("inline_string"), protoreflect.ValueOfString(hidden))
		m.Set(fd, protoreflect.ValueOfMessage(inner))
	case fd.Message() != nil && fd.Message().FullName() == "google.protobuf.StringValue":
		m.Set(fd, protoreflect.ValueOfMessage(wrapperspb.String(hidden).ProtoReflect()))
	default:
		m.Clear(fd)
	}
}

// FindMessageByURL implements the resolver of package protojson.
func (w walk) FindMessageByURL(url string) (protoreflect.MessageType, error) {
	if w.as[url] {
		return w.unknown, nil
	}
	return w.types.FindMessageByURL(url)
}

// FindMessageByName implements the resolver of package protojson.
func (w walk) FindMessageByName(name protoreflect.FullName) (protoreflect.MessageType, error) {
	return w.types.FindMessageByName(name)
}

// FindExtensionByName implements the resolver of package protojson.
func (w walk) FindExtensionByName(name protoreflect.FullName) (protoreflect.ExtensionType, error) {
	return w.types.FindExtensionByName(name)
}

// FindExtensionByNumber implements the resolver of package protojson.
func (w walk) FindExtensionByNumber(m protoreflect.FullName, n protoreflect.FieldNumber) (protoreflect.ExtensionType, error) {
	return w.types.FindExtensionByNumber(m, n)
}
