package plugintest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// maxText is the maximal length of an update's text, including the mark for clipped text.
const maxText = 4<<10 + 3

// testPrinted checks the laws of the methods String, LogValue and MarshalJSON, if the update has them.
func (k *kit) testPrinted(t *testing.T, u, again resource.Update) {
	t.Helper()
	if s, ok := u.(fmt.Stringer); ok {
		text := s.String()
		if len(text) > maxText || strings.ContainsAny(text, "\n\r") {
			t.Errorf("String() = %q; must be one line of at most %d bytes", text, maxText)
		}
		if other := fmt.Sprintf("%+v", again); other != text {
			t.Errorf("%%+v of two decodes of the same bytes: %q, %q", text, other)
		}
	}
	if l, ok := u.(slog.LogValuer); ok && l.LogValue().Kind() != slog.KindGroup {
		t.Errorf("LogValue() = %v; must be a group", l.LogValue())
	}
	if _, ok := u.(json.Marshaler); !ok {
		return
	}
	first, err := json.Marshal(u)
	if err != nil {
		t.Fatalf("MarshalJSON: %v", err)
	}
	if second, err := json.Marshal(again); err != nil || !bytes.Equal(first, second) {
		t.Errorf("two decodes of the same bytes as JSON, error %v:\n%s\n%s", err, first, second)
	}
	var about struct{ Type, Name, Version string }
	if err := json.Unmarshal(first, &about); err != nil || about.Type != k.typ.Name || about.Name != u.Name().String() || about.Version != version {
		t.Errorf("MarshalJSON() = %s, error %v; must have type, name and version", first, err)
	}
}

// testLiterals calls all methods of an update's types on values that no decoder made: nil, the zero value, and a copy
// of the exported fields of each value in u.
func testLiterals(t *testing.T, u resource.Update) {
	t.Helper()
	l := literals{t: t, pkg: reflect.TypeOf(u).Elem().PkgPath(), seen: make(map[reflect.Type]bool)}
	l.visit(reflect.ValueOf(u))
}

// literals records the visited types of an update's package.
type literals struct {
	t    *testing.T
	pkg  string
	seen map[reflect.Type]bool
}

// visit finds the structs in a value. It skips unexported fields.
func (l *literals) visit(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			l.visit(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			l.visit(v.Index(i))
		}
	case reflect.Map:
		for i := v.MapRange(); i.Next(); {
			l.visit(i.Value())
		}
	case reflect.Struct:
		if v.Type().PkgPath() == l.pkg {
			l.structs(v)
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				l.visit(v.Field(i))
			}
		}
	default:
	}
}

// structs calls the methods of a struct's type.
func (l *literals) structs(v reflect.Value) {
	pointer := reflect.PointerTo(v.Type())
	bare := reflect.New(v.Type()) // a literal with only the exported fields
	for i := range v.NumField() {
		if v.Type().Field(i).IsExported() {
			bare.Elem().Field(i).Set(v.Field(i))
		}
	}
	for m := range pointer.Methods() {
		l.call(bare, m.Name, "a literal")
	}
	if l.seen[v.Type()] {
		return
	}
	l.seen[v.Type()] = true
	for m := range pointer.Methods() {
		l.call(reflect.New(v.Type()), m.Name, "the zero value")
		if _, ofValue := v.Type().MethodByName(m.Name); !ofValue { // Go itself panics for methods of values
			l.call(reflect.Zero(pointer), m.Name, "nil")
		}
	}
}

// call calls a method with the zero value of each parameter.
func (l *literals) call(v reflect.Value, name, of string) {
	l.t.Helper()
	m := v.MethodByName(name)
	if m.Type().IsVariadic() {
		return
	}
	args := make([]reflect.Value, m.Type().NumIn())
	for i := range args {
		args[i] = reflect.Zero(m.Type().In(i))
	}
	defer func() {
		if p := recover(); p != nil {
			l.t.Errorf("%s: method %s panics for %s: %v", v.Type(), name, of, p)
		}
	}()
	m.Call(args)
}
