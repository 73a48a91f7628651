package resource

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xdsforge/xdsforge/internal/printable"
)

// A RawUpdate is one message as a resource.
type RawUpdate[M proto.Message] struct {
	Meta
	message M
}

// Message is the message. It must not be changed. A nil update has none.
func (u *RawUpdate[M]) Message() M {
	if u == nil {
		var none M
		return none
	}
	return u.message
}

// String names the update and the size of its message, whose content may be secret.
func (u *RawUpdate[M]) String() string {
	if u == nil {
		return "<nil>"
	}
	return fmt.Sprintf("%s version %s {%d bytes}", printable.Quote(u.Name().String(), printable.Short), printable.Quote(u.Version(), printable.Short), len(u.Raw()))
}

// Raw returns the Spec of a resource type whose updates are whole messages, for programs that
// need no projection:
//
//	secrets := resource.Define(resource.Raw((*tlsv3.Secret).GetName))
//
// The function is the getter of the field that has the resource's name. Nil says that the
// message has no such field; its resources must be in the wrapper
// envoy.service.discovery.v3.Resource. Wildcard, Globs and Collection are not set. A message
// with a method ValidateAll or Validate, as protoc-gen-validate writes them, must pass it; its
// errors become violations with path and value. Messages in an Any are not validated.
func Raw[M proto.Message](name func(M) string) Spec[*RawUpdate[M]] {
	var none M
	message := none.ProtoReflect().Type()
	full := string(message.Descriptor().FullName())
	s := Spec[*RawUpdate[M]]{
		Name: full,
		// Of no other type does a state-of-the-world response name every resource.
		Complete: full == "envoy.config.listener.v3.Listener" || full == "envoy.config.cluster.v3.Cluster",
		NewShard: func() Shard { return new(rawShard) },
		Decode: func(dc *DecodeContext, body []byte) (*RawUpdate[M], error) {
			m := message.New().Interface()
			if err := dc.Unmarshal(body, m); err != nil {
				return nil, err
			}
			if err := validateRaw(m); err != nil {
				return nil, err
			}
			return &RawUpdate[M]{Meta: dc.Meta(body), message: m.(M)}, nil
		},
	}
	if name != nil {
		s.PeekName = peekRaw(message, func(m proto.Message) string { return name(m.(M)) })
	}
	return s
}

// peekRaw reads the field that name gets, without decoding the rest where name is
// a plain getter.
func peekRaw(message protoreflect.MessageType, name func(proto.Message) string) func([]byte) (string, error) {
	fields := message.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if f.Kind() != protoreflect.StringKind || f.IsList() {
			continue
		}
		m := message.New()
		m.Set(f, protoreflect.ValueOfString("probe"))
		if name(m.Interface()) == "probe" {
			number := f.Number()
			return func(body []byte) (string, error) { return PeekString(body, number) }
		}
	}
	return func(body []byte) (string, error) {
		m := message.New().Interface()
		if err := proto.Unmarshal(body, m); err != nil {
			return "", err
		}
		return name(m), nil
	}
}
