package wire

import (
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// The functions of this file read well-known types into the structs that
// protobuf has for them, which views hold by value. They merge: what the bytes do
// not have stays. Unknown fields are not kept.

// Any reads a google.protobuf.Any.
func Any(r Reader, m *anypb.Any) bool {
	for r.Next() {
		switch r.Tag() {
		case 1<<3 | Len:
			m.TypeUrl = r.String()
		case 2<<3 | Len:
			m.Value = r.Blob()
		default:
			r.Skip()
		}
	}
	return r.OK()
}

// Duration reads a google.protobuf.Duration.
func Duration(r Reader, m *durationpb.Duration) bool { return seconds(r, &m.Seconds, &m.Nanos) }

// Timestamp reads a google.protobuf.Timestamp.
func Timestamp(r Reader, m *timestamppb.Timestamp) bool { return seconds(r, &m.Seconds, &m.Nanos) }

func seconds(r Reader, s *int64, nanos *int32) bool {
	for r.Next() {
		switch r.Tag() {
		case 1<<3 | Varint:
			*s = r.Int64()
		case 2<<3 | Varint:
			*nanos = r.Int32()
		default:
			r.Skip()
		}
	}
	return r.OK()
}

// wrapped reads the one field of a wrapper.
func wrapped[T any](r Reader, typ uint32, value *T, read func(*Reader) T) bool {
	for r.Next() {
		if r.Tag() == 1<<3|typ {
			*value = read(&r)
		} else {
			r.Skip()
		}
	}
	return r.OK()
}

// UInt32Value reads the wrapper of that name. It is by far the most frequent.
func UInt32Value(r Reader, m *wrapperspb.UInt32Value) bool {
	for r.Next() {
		if r.Tag() == 1<<3|Varint {
			m.Value = r.Uint32()
		} else {
			r.Skip()
		}
	}
	return r.OK()
}

// BoolValue reads the wrapper of that name.
func BoolValue(r Reader, m *wrapperspb.BoolValue) bool {
	return wrapped(r, Varint, &m.Value, (*Reader).Bool)
}

// Int32Value reads the wrapper of that name.
func Int32Value(r Reader, m *wrapperspb.Int32Value) bool {
	return wrapped(r, Varint, &m.Value, (*Reader).Int32)
}

// Int64Value reads the wrapper of that name.
func Int64Value(r Reader, m *wrapperspb.Int64Value) bool {
	return wrapped(r, Varint, &m.Value, (*Reader).Int64)
}

// UInt64Value reads the wrapper of that name.
func UInt64Value(r Reader, m *wrapperspb.UInt64Value) bool {
	return wrapped(r, Varint, &m.Value, (*Reader).Uint64)
}

// FloatValue reads the wrapper of that name.
func FloatValue(r Reader, m *wrapperspb.FloatValue) bool {
	return wrapped(r, Fixed32, &m.Value, (*Reader).Float)
}

// DoubleValue reads the wrapper of that name.
func DoubleValue(r Reader, m *wrapperspb.DoubleValue) bool {
	return wrapped(r, Fixed64, &m.Value, (*Reader).Double)
}

// StringValue reads the wrapper of that name.
func StringValue(r Reader, m *wrapperspb.StringValue) bool {
	return wrapped(r, Len, &m.Value, (*Reader).String)
}

// BytesValue reads the wrapper of that name.
func BytesValue(r Reader, m *wrapperspb.BytesValue) bool {
	return wrapped(r, Len, &m.Value, (*Reader).Blob)
}
