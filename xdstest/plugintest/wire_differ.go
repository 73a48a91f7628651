package plugintest

import (
	"fmt"
	"math"
	"reflect"

	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// differ returns the path of the first difference between two values, or "". It includes unexported fields. It
// compares messages as messages, and treats an empty slice or map as nil.
func differ(a, b reflect.Value, path string) string {
	if a.IsValid() != b.IsValid() || a.IsValid() && a.Type() != b.Type() {
		return path
	}
	if !a.IsValid() {
		return ""
	}
	switch a.Kind() {
	case reflect.Pointer:
		return differPointers(a, b, path)
	case reflect.Interface:
		return differ(a.Elem(), b.Elem(), path)
	case reflect.Struct:
		for i := range a.NumField() {
			if isRaw(a.Type(), i) {
				continue
			}
			if where := differ(a.Field(i), b.Field(i), path+"."+a.Type().Field(i).Name); where != "" {
				return where
			}
		}
	case reflect.Slice, reflect.Array:
		if a.Len() != b.Len() {
			return fmt.Sprintf("%s has %d and %d elements", path, a.Len(), b.Len())
		}
		for i := range a.Len() {
			if where := differ(a.Index(i), b.Index(i), fmt.Sprintf("%s[%d]", path, i)); where != "" {
				return where
			}
		}
	case reflect.Map:
		return differMaps(a, b, path)
	default:
		return differScalars(a, b, path)
	}
	return ""
}

// isRaw reports whether a field holds encoded bytes of a resource. The resource's own are
// the same for both decoders. Those of an inlined resource may be encoded anew.
func isRaw(t reflect.Type, field int) bool {
	return t == reflect.TypeFor[resource.Meta]() && t.Field(field).Name == "raw"
}

func differPointers(a, b reflect.Value, path string) string {
	switch {
	case a.IsNil() || b.IsNil():
		if a.IsNil() != b.IsNil() {
			return path
		}
		return ""
	case a.Pointer() == b.Pointer():
		return ""
	}
	if a.CanInterface() && b.CanInterface() {
		m, isMessage := reflect.TypeAssert[proto.Message](a)
		if other, _ := reflect.TypeAssert[proto.Message](b); isMessage && proto.Equal(m, other) {
			return ""
		} else if isMessage {
			return path
		}
	}
	if text, ok := stringer(a); ok {
		if other, _ := stringer(b); text != other {
			return path
		}
		return ""
	}
	return differ(a.Elem(), b.Elem(), path)
}

// stringer returns the text of a type that is compared by its text: the types of package regexp. Their fields depend
// on earlier matches.
func stringer(v reflect.Value) (string, bool) {
	if v.Type().Elem().PkgPath() != "regexp" {
		return "", false
	}
	return v.Elem().FieldByName("expr").String(), true
}

func differMaps(a, b reflect.Value, path string) string {
	if a.Len() != b.Len() {
		return fmt.Sprintf("%s has %d and %d entries", path, a.Len(), b.Len())
	}
	for _, key := range a.MapKeys() {
		if where := differ(a.MapIndex(key), b.MapIndex(key), fmt.Sprintf("%s[%v]", path, key)); where != "" {
			return where
		}
	}
	return ""
}

func differScalars(a, b reflect.Value, path string) string {
	same := true
	switch {
	case a.CanInt():
		same = a.Int() == b.Int()
	case a.CanUint():
		same = a.Uint() == b.Uint()
	case a.CanFloat():
		same = math.Float64bits(a.Float()) == math.Float64bits(b.Float())
	case a.Kind() == reflect.Bool:
		same = a.Bool() == b.Bool()
	case a.Kind() == reflect.String:
		same = a.String() == b.String()
	case a.Kind() == reflect.Func:
		same = a.IsNil() == b.IsNil()
	}
	if !same {
		return fmt.Sprintf("%s: %v and %v", path, a, b)
	}
	return ""
}
