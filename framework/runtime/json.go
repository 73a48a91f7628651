package runtime

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"

	"google.golang.org/protobuf/proto"
)

// maxJSONDepth is the limit of nested values in the output.
const maxJSONDepth = 100

// A jsonWriter writes an update as JSON.
type jsonWriter struct {
	b      []byte
	shapes shapes
	pkg    string // of the current struct
}

func newJSON() *jsonWriter { return &jsonWriter{shapes: make(shapes)} }

func (p *jsonWriter) text(s string) {
	quoted, _ := json.Marshal(s) //nolint:errchkjson // a string can always be written
	p.b = append(p.b, quoted...)
}

// key starts a member of an object.
func (p *jsonWriter) key(name string) {
	if p.b[len(p.b)-1] != '{' {
		p.b = append(p.b, ',')
	}
	p.text(name)
	p.b = append(p.b, ':')
}

// member writes a string member, unless it is empty.
func (p *jsonWriter) member(name, value string) {
	if value != "" {
		p.key(name)
		p.text(value)
	}
}

// fields writes the fields of a struct that are set.
func (p *jsonWriter) fields(v reflect.Value, depth int) {
	outer := p.pkg
	p.pkg = v.Type().PkgPath()
	defer func() { p.pkg = outer }()
	p.b = append(p.b, '{')
	for _, f := range p.shapes.of(v.Type()).fields {
		x := v.Field(f.index)
		if absent(x) {
			continue
		}
		p.key(f.key)
		if f.secret {
			p.text(hidden)
		} else {
			p.value(x, depth+1)
		}
	}
	p.b = append(p.b, '}')
}

func (p *jsonWriter) value(v reflect.Value, depth int) {
	if depth > maxJSONDepth {
		p.text("…")
		return
	}
	switch s := p.shapes.of(v.Type()); s.form {
	case opaque:
		p.b = append(p.b, "{}"...)
	case scalar:
		p.scalar(v)
	case octets:
		p.text(strconv.Itoa(v.Len()) + " bytes")
	case list:
		p.list(v, depth)
	case mapping:
		p.b = append(p.b, '{')
		for _, e := range entries(v) {
			p.key(e.key)
			p.value(e.value, depth+1)
		}
		p.b = append(p.b, '}')
	case pointer:
		if v.IsNil() {
			p.b = append(p.b, "null"...)
		} else {
			p.value(v.Elem(), depth+1)
		}
	case dynamic:
		p.dynamic(v, depth)
	case members:
		p.fields(v, depth)
	case message, failure, marshals, texts, stringer:
		p.said(v, s.form)
	}
}

// said writes the result of a method of the value.
func (p *jsonWriter) said(v reflect.Value, f form) {
	var said string
	var ok, written bool
	switch f {
	case message:
		said, ok = told(v, messageJSON)
		written = true
	case marshals:
		said, ok = told(v, jsonText)
		written = json.Valid([]byte(said))
	case failure:
		said, ok = told(v, error.Error)
	case texts:
		said, ok = told(v, marshalText)
	default:
		said, ok = told(v, fmt.Stringer.String)
	}
	switch {
	case !ok:
		p.b = append(p.b, "null"...)
	case written:
		p.b = append(p.b, said...)
	default:
		p.text(said)
	}
}

func messageJSON(m proto.Message) string {
	return fmt.Sprintf(`{"message":%q,"bytes":%d}`, m.ProtoReflect().Descriptor().FullName(), proto.Size(m))
}

func (p *jsonWriter) scalar(v reflect.Value) {
	switch {
	case v.Kind() == reflect.String:
		p.text(v.String())
	case v.CanFloat() && (math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0)):
		p.text(number(v))
	default:
		p.b = append(p.b, number(v)...)
	}
}

func (p *jsonWriter) list(v reflect.Value, depth int) {
	p.b = append(p.b, '[')
	for i := range v.Len() {
		if i > 0 {
			p.b = append(p.b, ',')
		}
		p.value(v.Index(i), depth+1)
	}
	p.b = append(p.b, ']')
}

// dynamic writes the value of an interface. It is an object with one member, named after its type,
// unless the value has a method for its own form.
func (p *jsonWriter) dynamic(v reflect.Value, depth int) {
	if v.IsNil() {
		p.b = append(p.b, "null"...)
		return
	}
	x, name := p.shapes.caseOf(v, p.pkg)
	if name == "" {
		p.value(x, depth+1)
		return
	}
	p.b = append(p.b, '{')
	p.key(name)
	p.value(x, depth+1)
	p.b = append(p.b, '}')
}
