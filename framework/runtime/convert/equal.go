package convert

import (
	"bytes"
	"reflect"

	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// EqualValues compares results of hand-written hooks: by the method Equal if the type has one,
// messages as messages, and everything else deeply.
func EqualValues[T any](a, b T) bool {
	if isNil(a) || isNil(b) {
		return isNil(a) && isNil(b)
	}
	switch x := any(a).(type) {
	case interface{ Equal(other T) bool }:
		return x.Equal(b)
	case proto.Message:
		y, ok := any(b).(proto.Message)
		return ok && proto.Equal(x, y)
	}
	return reflect.DeepEqual(a, b)
}

// isNil reports whether x is a nil pointer or interface.
func isNil(x any) bool {
	v := reflect.ValueOf(x)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// IsSet reports whether x is not zero.
func IsSet[T any](x T) bool { return !reflect.ValueOf(&x).Elem().IsZero() }

// EqualUpdates compares inlined resources by their bytes.
func EqualUpdates(a, b resource.Update) bool {
	if a == nil || b == nil {
		return a == b
	}
	return bytes.Equal(a.Raw(), b.Raw())
}

// EqualPointers compares optional values.
func EqualPointers[T any](a, b *T, equal func(T, T) bool) bool {
	if a == nil || b == nil {
		return a == b
	}
	return equal(*a, *b)
}

// Same is == as a function.
func Same[T comparable](a, b T) bool { return a == b }

// Count returns the number of conditions that hold.
func Count(conditions ...bool) int {
	n := 0
	for _, c := range conditions {
		if c {
			n++
		}
	}
	return n
}
