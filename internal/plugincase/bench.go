package plugincase

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/wire"
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
	run("decode", Decoder(typ, *dc, body))
	run("unmarshal", unmarshal)
}

// batchResources is the number of resources that a client decodes with one context.
const batchResources = 64

// Decoder returns a function that decodes body as a client does, which reads resources in batches. Those of a batch
// share a context, and each has the default limits.
func Decoder(typ resource.Type, first resource.DecodeContext, body []byte) func() error {
	decode := resource.Describe(typ).Decode
	limits := resource.Limits{}.WithDefaults()
	var dc resource.DecodeContext
	var budget wire.Budget
	var response *wire.Shared
	n := 0
	return func() error {
		if n%batchResources == 0 {
			dc, budget = first, wire.Budget{}
			dc.Budget, response = &budget, limits.Response(int64(batchResources*len(body)))
		}
		n++
		dc.Types.Start(&budget, limits, response)
		if err := dc.SpendBase(); err != nil {
			return err
		}
		_, err := decode(&dc, body)
		return err
	}
}

// Unmarshal is a function that unmarshals the encoded message, and the messages in
// its Anys, without looking for them.
func Unmarshal(m proto.Message) (func() error, error) {
	var bodies [][]byte
	var types []protoreflect.MessageType
	err := protorange.Range(m.ProtoReflect(), func(at protopath.Values) error {
		last := at.Index(-1)
		if kind := last.Step.Kind(); kind != protopath.RootStep && kind != protopath.AnyExpandStep {
			return nil
		}
		inner := last.Value.Message()
		b, err := proto.Marshal(inner.Interface())
		bodies, types = append(bodies, b), append(types, inner.Type())
		return err
	})
	return func() error {
		for i, b := range bodies {
			if err := proto.Unmarshal(b, types[i].New().Interface()); err != nil {
				return err
			}
		}
		return nil
	}, err
}
