package runtime

import (
	"encoding"
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"strings"
	"unicode"

	"google.golang.org/protobuf/proto"
)

// A form is a way to show the values of a type.
type form uint8

const (
	opaque   form = iota // not at all
	scalar               // as a bool, number or text
	octets               // as a number of bytes
	failure              // as the text of an error
	message              // as the name and size of a protobuf message
	marshals             // by its MarshalJSON
	texts                // by its MarshalText
	stringer             // by its String
	members              // as the fields of a struct
	list
	mapping
	pointer
	dynamic // as the value in an interface
)

// A shape describes how to show a type.
type shape struct {
	form
	fields []member // of a struct with fields to show
	prints bool     // it has a String method
}

// A member is a field that is shown.
type member struct {
	name, key string // in text, in JSON
	index     int
	secret    bool // its value is not shown
}

// tag is the key of struct tags: `xds:"secret"` hides the value of a field, `xds:"shown=Name"`
// shows an unexported field under that name.
const tag = "xds"

// shapes holds the shapes of the types that one call has met.
type shapes map[reflect.Type]*shape

func (s shapes) of(t reflect.Type) *shape {
	if known, ok := s[t]; ok {
		return known
	}
	out := &shape{form: members} // until it is known: types may contain themselves
	s[t] = out
	out.prints = t.Implements(reflect.TypeFor[fmt.Stringer]())
	if t.Kind() == reflect.Struct {
		out.fields = s.members(t)
	}
	out.form = s.form(t, out)
	return out
}

func (s shapes) form(t reflect.Type, known *shape) form {
	switch {
	case t.Kind() == reflect.Interface:
		return dynamic
	case t.Implements(reflect.TypeFor[proto.Message]()):
		return message
	case t.Implements(reflect.TypeFor[error]()):
		return failure
	case t.Implements(reflect.TypeFor[json.Marshaler]()):
		return marshals
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return texts
	}
	return s.plainForm(t, known)
}

// plainForm returns the form of a type without methods for it.
func (s shapes) plainForm(t reflect.Type, known *shape) form {
	switch t.Kind() { //nolint:exhaustive // all others are scalars
	case reflect.Struct:
		switch {
		case len(known.fields) > 0 || t.NumField() == 0:
			return members
		case known.prints:
			return stringer
		}
		return opaque
	case reflect.Pointer:
		if e := s.of(t.Elem()); e.form == opaque && !known.prints {
			return opaque
		} else if e.form == opaque {
			return stringer
		}
		return pointer
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return octets
		}
		return list
	case reflect.Map:
		return mapping
	case reflect.Func, reflect.Chan, reflect.UnsafePointer, reflect.Invalid, reflect.Complex64, reflect.Complex128, reflect.Uintptr:
		return opaque
	}
	if known.prints {
		return stringer
	}
	return scalar
}

// members returns the fields of a struct that are shown. It obeys tags of package encoding/json
// that omit or rename a field.
func (s shapes) members(t reflect.Type) []member {
	var out []member
	for i := range t.NumField() {
		f := t.Field(i)
		mark, shown, _ := strings.Cut(f.Tag.Get(tag), "=")
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() && mark != "shown" || s.of(f.Type).form == opaque {
			continue
		}
		m := member{name: f.Name, key: name, index: i, secret: mark == "secret"}
		if !f.IsExported() {
			m.name = shown
		}
		if m.key == "" {
			m.key = lowerCamel(m.name)
		}
		out = append(out, m)
	}
	return out
}

// lowerCamel lowers the first word of a Go name: LBPolicy becomes lbPolicy, SANs becomes sans.
func lowerCamel(name string) string {
	runes := []rune(name)
	n := 0
	for n < len(runes) && unicode.IsUpper(runes[n]) {
		n++
	}
	plural := n > 1 && n < len(runes) && runes[n] == 's' && (n+1 == len(runes) || unicode.IsUpper(runes[n+1]))
	if n > 1 && n < len(runes) && unicode.IsLower(runes[n]) && !plural {
		n-- // the last capital starts the next word
	}
	return strings.ToLower(string(runes[:n])) + string(runes[n:])
}

// caseOf returns the value in an interface of type t, below pointers, and the name of the value's
// type, as seen from the package of the type with the interface. Without a name, the value has a
// method for its own form.
func (s shapes) caseOf(v reflect.Value, pkg string) (reflect.Value, string) {
	anything := v.NumMethod() == 0
	v = v.Elem()
	for s.of(v.Type()).form == pointer && !v.IsNil() {
		v = v.Elem()
	}
	t := v.Type()
	switch f := s.of(t).form; {
	case t.Name() == "" || t.PkgPath() == "":
		return v, ""
	case f == message || f == failure || f == marshals || anything && f != members && f != opaque:
		return v, ""
	case t.PkgPath() == pkg:
		return v, t.Name()
	}
	return v, path.Base(t.PkgPath()) + "." + t.Name()
}

// told calls a foreign method of a value. It may panic, for example for nil.
func told[T any](v reflect.Value, call func(T) string) (s string, ok bool) {
	if !v.CanInterface() || (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && v.IsNil() {
		return "", false
	}
	x, is := reflect.TypeAssert[T](v)
	if !is {
		return "", false
	}
	defer func() {
		if recover() != nil {
			s, ok = "", false
		}
	}()
	return call(x), true
}
