package resource

import (
	"context"
	"fmt"
	"iter"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// A RawType is a resource type whose updates are whole messages, for programs
// that need no projection. Its methods are what a generated package has for
// functions. Wildcard, Globs and Collection of its [Descriptor] are not set; they may be
// before it is registered.
type RawType[M proto.Message] struct {
	*Descriptor
}

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

// Raw makes a resource type of a message:
//
//	secrets := resource.Raw((*tlsv3.Secret).GetName)
//
// The function is the getter of the field that carries the resource's name; nil
// says that the message has none, and arrives in the wrapper
// envoy.service.discovery.v3.Resource. A message with a method ValidateAll or
// Validate, as protoc-gen-validate writes them, must pass it: what it says is in
// the violations, each with its path and value. Messages in an Any are not looked
// into.
func Raw[M proto.Message](name func(M) string) RawType[M] {
	var none M
	message := none.ProtoReflect().Type()
	full := string(message.Descriptor().FullName())
	t := &Descriptor{
		Name: full,
		// Of no other type does a state-of-the-world response name every resource.
		Complete: full == "envoy.config.listener.v3.Listener" || full == "envoy.config.cluster.v3.Cluster",
		NewShard: func() Shard { return new(rawShard) },
		Decode: func(dc *DecodeContext, body []byte) (Update, error) {
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
		t.PeekName = peekRaw(message, func(m proto.Message) string { return name(m.(M)) })
	}
	return RawType[M]{t}
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

// Register makes the type known. What is wrong is reported when r is frozen.
func (t RawType[M]) Register(r Registrar) { r.Register(t.Descriptor) }

// Watch yields every newest state of a resource until ctx ends; see [Watch].
func (t RawType[M]) Watch(ctx context.Context, c Source, name string) iter.Seq2[*RawUpdate[M], error] {
	return Watch[*RawUpdate[M]](ctx, c, t.Descriptor, name)
}

// WatchCollection yields what becomes of the members of a collection; see
// [WatchCollection].
func (t RawType[M]) WatchCollection(ctx context.Context, c Source, name string) iter.Seq2[Member[*RawUpdate[M]], error] {
	return WatchCollection[*RawUpdate[M]](ctx, c, t.Descriptor, name)
}

// Subscribe calls w, never concurrently with itself, with every newest state
// until cancel.
func (t RawType[M]) Subscribe(c Source, name string, w Watcher[*RawUpdate[M]]) (cancel func(), err error) {
	return Subscribe(c, t.Descriptor, name, w)
}

// Get waits for the first state of a resource; see [Get].
func (t RawType[M]) Get(ctx context.Context, c Source, name string) (*RawUpdate[M], error) {
	return Get[*RawUpdate[M]](ctx, c, t.Descriptor, name)
}

// Lookup returns what is cached under a name now; see [Lookup].
func (t RawType[M]) Lookup(c Source, name xdstp.Name) (*RawUpdate[M], bool) {
	return Lookup[*RawUpdate[M]](c, t.Descriptor, name)
}

// All yields what is cached, of all authorities.
func (t RawType[M]) All(c Source) iter.Seq[*RawUpdate[M]] { return All[*RawUpdate[M]](c, t.Descriptor) }
