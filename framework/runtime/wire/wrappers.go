package wire

// A Wrapper is the view of one of the wrapper messages of google.protobuf, such as UInt32Value. Its
// methods may be called on nil.
type Wrapper[T bool | int32 | int64 | uint32 | uint64 | float32 | float64 | string | []byte] struct{ Value T }

// GetValue returns the value, or zero if there is no message.
func (m *Wrapper[T]) GetValue() (value T) {
	if m == nil {
		return value
	}
	return m.Value
}

// Or returns the value, or x if there is no message.
func (m *Wrapper[T]) Or(x T) T {
	if m == nil {
		return x
	}
	return m.Value
}

// Wrapped returns a function from the view of a wrapper to its message. The argument is the function of
// package wrapperspb that creates the message.
func Wrapped[T bool | int32 | int64 | uint32 | uint64 | float32 | float64 | string | []byte, M any](create func(T) *M) func(*Wrapper[T]) *M {
	return func(m *Wrapper[T]) *M {
		if m == nil {
			return nil
		}
		return create(m.Value)
	}
}

// BoolValue reads a google.protobuf.BoolValue.
func BoolValue(r *Reader, m *Wrapper[bool]) {
	outer := r.Enter()
	for r.Next() {
		switch r.Tag() {
		case 1<<3 | Varint:
			m.Value = r.Bool()
		default:
			r.Skip()
		}
	}
	r.Leave(outer)
}

// Int32Value reads a google.protobuf.Int32Value.
func Int32Value(r *Reader, m *Wrapper[int32]) {
	outer := r.Enter()
	for r.Next() {
		switch r.Tag() {
		case 1<<3 | Varint:
			m.Value = r.Int32()
		default:
			r.Skip()
		}
	}
	r.Leave(outer)
}

// Int64Value reads a google.protobuf.Int64Value.
func Int64Value(r *Reader, m *Wrapper[int64]) {
	outer := r.Enter()
	for r.Next() {
		switch r.Tag() {
		case 1<<3 | Varint:
			m.Value = r.Int64()
		default:
			r.Skip()
		}
	}
	r.Leave(outer)
}

// UInt32Value reads a google.protobuf.UInt32Value.
func UInt32Value(r *Reader, m *Wrapper[uint32]) {
	outer := r.Enter()
	for r.Next() {
		switch r.Tag() {
		case 1<<3 | Varint:
			m.Value = r.Uint32()
		default:
			r.Skip()
		}
	}
	r.Leave(outer)
}

// UInt64Value reads a google.protobuf.UInt64Value.
func UInt64Value(r *Reader, m *Wrapper[uint64]) {
	outer := r.Enter()
	for r.Next() {
		switch r.Tag() {
		case 1<<3 | Varint:
			m.Value = r.Uint64()
		default:
			r.Skip()
		}
	}
	r.Leave(outer)
}

// FloatValue reads a google.protobuf.FloatValue.
func FloatValue(r *Reader, m *Wrapper[float32]) {
	outer := r.Enter()
	for r.Next() {
		switch r.Tag() {
		case 1<<3 | Fixed32:
			m.Value = r.Float()
		default:
			r.Skip()
		}
	}
	r.Leave(outer)
}

// DoubleValue reads a google.protobuf.DoubleValue.
func DoubleValue(r *Reader, m *Wrapper[float64]) {
	outer := r.Enter()
	for r.Next() {
		switch r.Tag() {
		case 1<<3 | Fixed64:
			m.Value = r.Double()
		default:
			r.Skip()
		}
	}
	r.Leave(outer)
}

// StringValue reads a google.protobuf.StringValue.
func StringValue(r *Reader, m *Wrapper[string]) {
	outer := r.Enter()
	for r.Next() {
		switch r.Tag() {
		case 1<<3 | Len:
			m.Value = r.String()
		default:
			r.Skip()
		}
	}
	r.Leave(outer)
}

// BytesValue reads a google.protobuf.BytesValue.
func BytesValue(r *Reader, m *Wrapper[[]byte]) {
	outer := r.Enter()
	for r.Next() {
		switch r.Tag() {
		case 1<<3 | Len:
			m.Value = r.Blob()
		default:
			r.Skip()
		}
	}
	r.Leave(outer)
}
