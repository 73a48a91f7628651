package plugincase

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// Bench measures, beside each other, how a type decodes and validates a message and
// how protobuf unmarshals it with all that is in its Anys.
func Bench(b *testing.B, typ resource.Type, m proto.Message) {
	b.Helper()
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		b.Fatal(err)
	}
	dc := Context(b)
	if dc.Name, err = dc.ParseName("name"); err != nil {
		b.Fatal(err)
	}
	unmarshal, err := Unmarshal(m)
	if err != nil {
		b.Fatal(err)
	}
	run := func(name string, f func() error) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	decode := resource.Describe(typ).Decode
	run("decode", func() error {
		one := *dc
		_, err := decode(&one, body)
		return err
	})
	run("unmarshal", unmarshal)
}

// Unmarshal is a function that unmarshals the encoded message, and the messages in
// its Anys, without looking for them.
func Unmarshal(m proto.Message) (func() error, error) {
	var a anys
	if err := a.add(m.ProtoReflect()); err != nil {
		return nil, err
	}
	return func() error {
		for i, b := range a.bodies {
			if err := proto.Unmarshal(b, a.types[i].New().Interface()); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// anys are a message and those in its Anys, encoded.
type anys struct {
	bodies [][]byte
	types  []protoreflect.MessageType
}

func (a *anys) add(m protoreflect.Message) error {
	b, err := proto.Marshal(m.Interface())
	if err != nil {
		return err
	}
	a.bodies, a.types = append(a.bodies, b), append(a.types, m.Type())
	return a.visit(m)
}

func (a *anys) visit(m protoreflect.Message) (err error) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil || f.IsMap():
		case f.IsList():
			for i := 0; i < v.List().Len() && err == nil; i++ {
				err = a.field(v.List().Get(i).Message())
			}
		default:
			err = a.field(v.Message())
		}
		return err == nil
	})
	return err
}

func (a *anys) field(m protoreflect.Message) error {
	packed, ok := m.Interface().(*anypb.Any)
	if !ok {
		return a.visit(m)
	}
	inner, err := packed.UnmarshalNew()
	if err != nil {
		return err
	}
	return a.add(inner.ProtoReflect())
}
