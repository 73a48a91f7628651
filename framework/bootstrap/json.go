package bootstrap

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"
)

// value is a JSON value, not yet decoded, and its position.
type value struct {
	p    *problems
	path string
	raw  json.RawMessage
}

// document checks that data is JSON, so that its parts need no further check.
func document(p *problems, data []byte) value {
	var raw json.RawMessage
	err := json.Unmarshal(data, &raw)
	switch {
	case !utf8.Valid(data):
		p.add("", "invalid UTF-8", "must be JSON, which is UTF-8 (RFC 8259 section 8.1)")
	case err != nil:
		p.addCause(position(data, err), "a syntax error", "must be JSON", err)
		p.paths[""] = true
	}
	return value{p: p, raw: raw}
}

// position returns the line and column of a syntax error in data, as editors count them.
func position(data []byte, err error) string {
	offset := len(data)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = min(int(syntax.Offset), offset)
	}
	before := data[:offset]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := max(1, utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]))
	return fmt.Sprintf("line %d, column %d", line, column)
}

// kind returns the kind of value, for errors.
func (v value) kind() string {
	switch raw := bytes.TrimLeft(v.raw, " \t\r\n"); {
	case len(raw) == 0:
		return "missing"
	case raw[0] == '{':
		return "an object"
	case raw[0] == '[':
		return "a list"
	case raw[0] == '"':
		return "a string"
	case raw[0] == 't' || raw[0] == 'f':
		return "a boolean"
	case raw[0] == 'n':
		return "null"
	}
	return "a number"
}

// decode stores v in target, if v is of this kind. Every value of the kind must fit target.
func (v value) decode(kind string, target any) {
	if got := v.kind(); got != kind {
		v.p.add(v.path, got, "must be "+kind)
		return
	}
	_ = json.Unmarshal(v.raw, target) // document has checked it
}

func (v value) stringValue() string {
	var s string
	v.decode("a string", &s)
	return s
}

func (v value) items() []value {
	var list []json.RawMessage
	v.decode("a list", &list)
	items := make([]value, len(list))
	for i, raw := range list {
		items[i] = value{p: v.p, path: indexPath(v.path, i), raw: raw}
	}
	return items
}

// entries yields the members of an object that is used as a map, sorted by key.
func (v value) entries() iter.Seq2[string, value] {
	fields := v.object().fields
	return func(yield func(string, value) bool) {
		for _, key := range slices.Sorted(maps.Keys(fields)) {
			if !yield(key, value{p: v.p, path: entryPath(v.path, key), raw: fields[key]}) {
				return
			}
		}
	}
}

func indexPath(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

func entryPath(path, key string) string { return path + "[" + strconv.Quote(key) + "]" }

func fieldPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// object is a JSON object with fixed field names. A value that is not an object has no fields, and
// the problem was reported.
type object struct {
	p      *problems
	path   string
	fields map[string]json.RawMessage
}

func (v value) object() object {
	o := object{p: v.p, path: v.path}
	v.decode("an object", &o.fields)
	return o
}

// field returns the named field. A null field counts as absent.
func (o object) field(name string) (v value, ok bool) {
	v = value{p: o.p, path: fieldPath(o.path, name), raw: o.fields[name]}
	kind := v.kind()
	return v, kind != "missing" && kind != "null"
}

// stringValue returns the named field, a string, or "".
func (o object) stringValue(name string) string {
	if v, ok := o.field(name); ok {
		return v.stringValue()
	}
	return ""
}

// boolValue returns the named field, a boolean, or false.
func (o object) boolValue(name string) (b bool) {
	if v, ok := o.field(name); ok {
		v.decode("a boolean", &b)
	}
	return b
}

// items returns the elements of the named field, a list.
func (o object) items(name string) []value {
	if v, ok := o.field(name); ok {
		return v.items()
	}
	return nil
}

// entries returns the members of the named field, a map.
func (o object) entries(name string) iter.Seq2[string, value] {
	if v, ok := o.field(name); ok {
		return v.entries()
	}
	return maps.All(map[string]value(nil))
}

// raw returns the named field undecoded, or nil.
func (o object) raw(name string) json.RawMessage {
	if v, ok := o.field(name); ok {
		return v.raw
	}
	return nil
}
