package runtime

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/internal/printable"
)

// The limits of a text.
const (
	maxText      = 4 << 10          // bytes of all of it
	maxTextList  = 8                // elements of a list or map that are shown individually
	maxTextDepth = 6                // nested structs
	maxTextNest  = 2 * maxTextDepth // nested values, such as the maps of a map
)

// hidden replaces a secret.
const hidden = "<secret>"

// A text is a description of an update on one line.
type text struct {
	b      strings.Builder
	shapes shapes
	pkg    string // of the current struct
}

func newText() *text { return &text{shapes: make(shapes)} }

func (p *text) write(s string) { p.b.WriteString(s) }

func (p *text) full() bool { return p.b.Len() > maxText }

func (p *text) done() string {
	s := p.b.String()
	if len(s) > maxText {
		return strings.ToValidUTF8(s[:maxText], "") + "…"
	}
	return s
}

// fields writes the fields of a struct that are set.
func (p *text) fields(v reflect.Value, depth int) {
	outer := p.pkg
	p.pkg = v.Type().PkgPath()
	defer func() { p.pkg = outer }()
	if depth > maxTextDepth {
		p.write("{…}")
		return
	}
	p.write("{")
	sep := ""
	for _, f := range p.shapes.of(v.Type()).fields {
		x := v.Field(f.index)
		if p.full() {
			break
		}
		if absent(x) {
			continue
		}
		p.write(sep + f.name + ": ")
		sep = ", "
		if f.secret {
			p.write(hidden)
		} else {
			p.value(x, depth+1)
		}
	}
	p.write("}")
}

// absent reports whether a field is not set.
func absent(v reflect.Value) bool {
	if k := v.Kind(); k == reflect.Slice || k == reflect.Map {
		return v.Len() == 0
	}
	return v.IsZero()
}

func (p *text) value(v reflect.Value, depth int) {
	if depth > maxTextNest || p.full() {
		p.write("…")
		return
	}
	s := p.shapes.of(v.Type())
	if s.prints && s.form != members {
		if said, ok := told(v, fmt.Stringer.String); ok && s.form != message {
			p.write(printable.Text(said, printable.Quoted))
			return
		}
	}
	switch s.form {
	case opaque:
		p.write("{}")
	case scalar:
		p.scalar(v)
	case octets:
		p.write(strconv.Itoa(v.Len()) + " bytes")
	case list:
		p.list(v, depth)
	case mapping:
		p.mapping(v, depth)
	case pointer:
		p.pointer(v, depth)
	case dynamic:
		p.dynamic(v, depth)
	case members:
		p.fields(v, depth)
	case message, failure, marshals, texts, stringer:
		p.said(v, s, depth)
	}
}

// said writes the result of a method of the value.
func (p *text) said(v reflect.Value, s *shape, depth int) {
	var said string
	var ok bool
	switch s.form {
	case message:
		said, ok = told(v, messageText)
	case failure:
		said, ok = told(v, error.Error)
	case marshals:
		if len(s.fields) > 0 {
			p.fields(v, depth)
			return
		}
		said, ok = told(v, jsonText)
	default:
		if said, ok = told(v, marshalText); ok {
			p.write(printable.Quote(said, printable.Short))
			return
		}
	}
	if !ok {
		said = "{}"
	}
	p.write(printable.Text(said, printable.Quoted))
}

func messageText(m proto.Message) string {
	return fmt.Sprintf("%s of %d bytes", m.ProtoReflect().Descriptor().FullName(), proto.Size(m))
}

func jsonText(m json.Marshaler) string {
	b, _ := m.MarshalJSON() // nothing is shown if it fails
	return string(b)
}

func marshalText(m encoding.TextMarshaler) string {
	b, _ := m.MarshalText() // nothing is shown if it fails
	return string(b)
}

func (p *text) scalar(v reflect.Value) {
	if v.Kind() == reflect.String {
		p.write(printable.Quote(v.String(), printable.Short))
		return
	}
	p.write(number(v))
}

// number returns the text of a bool or number, which may be in an unexported field.
func number(v reflect.Value) string {
	switch {
	case v.Kind() == reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10)
	case v.CanUint():
		return strconv.FormatUint(v.Uint(), 10)
	}
	return strconv.FormatFloat(v.Float(), 'g', -1, v.Type().Bits())
}

func (p *text) list(v reflect.Value, depth int) {
	if v.Len() > maxTextList {
		p.write(strconv.Itoa(v.Len()) + " × " + v.Type().Elem().Name())
		return
	}
	p.write("[")
	for i := range v.Len() {
		if i > 0 {
			p.write(", ")
		}
		p.value(v.Index(i), depth)
	}
	p.write("]")
}

func (p *text) mapping(v reflect.Value, depth int) {
	if v.Len() > maxTextList {
		p.write(strconv.Itoa(v.Len()) + " entries")
		return
	}
	p.write("{")
	for i, e := range entries(v) {
		if i > 0 {
			p.write(", ")
		}
		p.write(printable.Quote(e.key, printable.Short) + ": ")
		p.value(e.value, depth+1)
	}
	p.write("}")
}

// A pair is one entry of a map.
type pair struct {
	key   string
	value reflect.Value
}

// entries returns the entries of a map, ordered by the texts of their keys.
func entries(v reflect.Value) []pair {
	out := make([]pair, 0, v.Len())
	for i := v.MapRange(); i.Next(); {
		out = append(out, pair{keyText(i.Key()), i.Value()})
	}
	slices.SortFunc(out, func(a, b pair) int { return cmp.Compare(a.key, b.key) })
	return out
}

func keyText(k reflect.Value) string {
	if k.Kind() == reflect.String {
		return k.String()
	}
	if k.CanInterface() {
		return fmt.Sprint(k.Interface())
	}
	return k.String()
}

func (p *text) pointer(v reflect.Value, depth int) {
	switch {
	case v.IsNil():
		p.write("{}")
	case depth > maxTextDepth:
		p.write("{…}")
	default:
		p.value(v.Elem(), depth+1)
	}
}

func (p *text) dynamic(v reflect.Value, depth int) {
	if v.IsNil() {
		p.write("{}")
		return
	}
	x, name := p.shapes.caseOf(v, p.pkg)
	p.write(name)
	if f := p.shapes.of(x.Type()).form; name != "" && f != members && f != list && f != mapping && f != opaque {
		p.write(" ")
	}
	p.value(x, depth+1)
}
