package wire_test

import (
	"math"
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/framework/runtime/wire"
)

// checkWrapper expects the view of a message to have its value, and to become the same message.
func checkWrapper[T bool | int32 | int64 | uint32 | uint64 | float32 | float64 | string | []byte, M any](
	t *testing.T, read func(*wire.Reader, *wire.Wrapper[T]), create func(T) *M, value, other T,
) {
	t.Helper()
	message := any(create(value)).(proto.Message)
	body, err := proto.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	body = append(body, 2<<3, 1) // an unknown field
	r, m := wire.Read(body), new(wire.Wrapper[T])
	read(&r, m)
	if !r.OK() || !reflect.DeepEqual(m.GetValue(), value) || !reflect.DeepEqual(m.Or(other), value) {
		t.Errorf("%T: read %v, %t; want %v", message, m.GetValue(), r.OK(), value)
	}
	if got := any(wire.Wrapped(create)(m)).(proto.Message); !proto.Equal(got, message) {
		t.Errorf("%T: the view becomes %v; want %v", message, got, message)
	}
	var zero T
	if m = nil; !reflect.DeepEqual(m.GetValue(), zero) || !reflect.DeepEqual(m.Or(other), other) || wire.Wrapped(create)(m) != nil {
		t.Errorf("%T: a nil view has the value %v and the default %v", message, m.GetValue(), m.Or(other))
	}
	r = wire.Read([]byte{1<<3 | 7})
	read(&r, new(wire.Wrapper[T]))
	if r.OK() {
		t.Errorf("%T: a malformed message is read", message)
	}
}

func TestWrappers(t *testing.T) {
	checkWrapper(t, wire.BoolValue, wrapperspb.Bool, true, false)
	checkWrapper(t, wire.Int32Value, wrapperspb.Int32, -7, 1)
	checkWrapper(t, wire.Int64Value, wrapperspb.Int64, math.MinInt64, 1)
	checkWrapper(t, wire.UInt32Value, wrapperspb.UInt32, math.MaxUint32, 1)
	checkWrapper(t, wire.UInt64Value, wrapperspb.UInt64, math.MaxUint64, 1)
	checkWrapper(t, wire.FloatValue, wrapperspb.Float, 0.5, 1)
	checkWrapper(t, wire.DoubleValue, wrapperspb.Double, math.Pi, 1)
	checkWrapper(t, wire.StringValue, wrapperspb.String, "text", "other")
	checkWrapper(t, wire.BytesValue, wrapperspb.Bytes, []byte("bytes"), []byte("other"))
}
