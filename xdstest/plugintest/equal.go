package plugintest

import (
	"reflect"
	"testing"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// testEqual checks the laws of the method Equal, if the update has it. u and again are two decodes of the same bytes.
func testEqual(t *testing.T, u, again resource.Update) {
	t.Helper()
	v, w := reflect.ValueOf(u), reflect.ValueOf(again)
	if !v.MethodByName("Equal").IsValid() {
		return
	}
	equal := func(a, b reflect.Value) bool {
		return a.MethodByName("Equal").Call([]reflect.Value{b})[0].Bool()
	}
	none := reflect.Zero(v.Type())
	switch {
	case !equal(v, v):
		t.Error("the update is not equal to itself")
	case !equal(v, w) || !equal(w, v):
		t.Error("two decodes of the same bytes are not equal")
	case equal(v, none) || equal(none, v) || !equal(none, none):
		t.Error("nil must be equal to nil, and to no update")
	}
	for _, change := range structChanges(v.Elem(), "Update") {
		other := reflect.New(v.Type().Elem())
		other.Elem().Set(change.value)
		if tolerant(func() bool { return equal(v, other) || equal(other, v) }) {
			t.Errorf("the update is equal to one with another %s", change.path)
		}
	}
}

// tolerant returns the result of equal, or false if it panics. A hand-written type need not handle values that its
// hook never makes, and changes can make such values.
func tolerant(equal func() bool) (same bool) {
	defer func() {
		if recover() != nil {
			same = false
		}
	}()
	return equal()
}

// A change is a copy of a value that differs in one place.
type change struct {
	path  string
	value reflect.Value
}

// changes makes copies of v, each with a change in one place.
func changes(v reflect.Value, path string) []change {
	switch v.Kind() {
	case reflect.Struct:
		if !hasExported(v.Type()) {
			return opaqueChanges(v, path)
		}
		return structChanges(v, path)
	case reflect.Slice:
		return sliceChanges(v, path)
	case reflect.Map:
		return opaqueChanges(v, path)
	case reflect.Pointer:
		if v.IsNil() {
			return []change{{path, reflect.New(v.Type().Elem())}}
		}
		return []change{{path, reflect.Zero(v.Type())}}
	case reflect.Interface:
		return interfaceChanges(v, path)
	default:
		return scalarChange(v, path)
	}
}

// scalarChange changes a bool, a number or a string.
func scalarChange(v reflect.Value, path string) []change {
	out := reflect.New(v.Type()).Elem()
	switch {
	case v.CanInt():
		out.SetInt(v.Int() ^ 1)
	case v.CanUint():
		out.SetUint(v.Uint() ^ 1)
	case v.CanFloat():
		if v.Float() == 0 {
			out.SetFloat(1)
		}
	case v.Kind() == reflect.Bool:
		out.SetBool(!v.Bool())
	case v.Kind() == reflect.String:
		out.SetString(v.String() + "x")
	default:
		return nil
	}
	return []change{{path, out}}
}

// structChanges changes one exported field each.
func structChanges(v reflect.Value, path string) []change {
	var out []change
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		for _, c := range changes(v.Field(i), path+"."+field.Name) {
			s := reflect.New(v.Type()).Elem()
			s.Set(v)
			s.Field(i).Set(c.value)
			out = append(out, change{c.path, s})
		}
	}
	return out
}

// opaqueChanges replaces a value without exported fields by its zero value.
func opaqueChanges(v reflect.Value, path string) []change {
	if v.IsZero() {
		return nil
	}
	return []change{{path, reflect.Zero(v.Type())}}
}

// hasExported reports whether a struct type has an exported field.
func hasExported(t reflect.Type) bool {
	for field := range t.Fields() {
		if field.IsExported() {
			return true
		}
	}
	return false
}

// sliceChanges adds an element, drops the last, and changes the first.
func sliceChanges(v reflect.Value, path string) []change {
	copied := func(n int) reflect.Value {
		s := reflect.MakeSlice(v.Type(), n, n)
		reflect.Copy(s, v)
		return s
	}
	out := []change{{path + "[+1]", copied(v.Len() + 1)}}
	if v.Len() == 0 {
		return out
	}
	out = append(out, change{path + "[-1]", copied(v.Len() - 1)})
	for _, c := range changes(v.Index(0), path+"[0]") {
		s := copied(v.Len())
		s.Index(0).Set(c.value)
		out = append(out, change{c.path, s})
	}
	return out
}

// interfaceChanges removes the value, and changes it if it is a struct.
func interfaceChanges(v reflect.Value, path string) []change {
	if v.IsNil() {
		return nil
	}
	out := []change{{path, reflect.Zero(v.Type())}}
	if v.Elem().Kind() != reflect.Struct {
		return out
	}
	for _, c := range changes(v.Elem(), path+"."+v.Elem().Type().Name()) {
		i := reflect.New(v.Type()).Elem()
		i.Set(c.value)
		out = append(out, change{c.path, i})
	}
	return out
}
