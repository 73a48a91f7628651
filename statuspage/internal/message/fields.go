package message

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// message adds the lines of the fields that are set, in the order of the descriptor.
func (p *printer) message(m protoreflect.Message, path string, depth int) {
	if depth > maxNesting {
		p.line(path, depth, "# nested too deeply")
		return
	}
	fields := m.Descriptor().Fields()
	for i := 0; i < fields.Len() && !p.full(); i++ {
		fd := fields.Get(i)
		if !m.Has(fd) {
			continue
		}
		v, at := m.Get(fd), join(path, string(fd.Name()))
		switch {
		case fd.IsMap():
			p.entries(fd, v.Map(), at, depth)
		case fd.IsList():
			p.list(fd, v.List(), at, depth)
		default:
			p.value(fd, v, string(fd.Name()), at, depth)
		}
	}
	if n := len(m.GetUnknown()); n > 0 {
		p.line(path, depth, fmt.Sprintf("# %d bytes of fields that this program does not know", n))
	}
}

func (p *printer) list(fd protoreflect.FieldDescriptor, list protoreflect.List, path string, depth int) {
	for i := 0; i < list.Len() && !p.full(); i++ {
		index := "[" + strconv.Itoa(i) + "]"
		p.value(fd, list.Get(i), string(fd.Name())+index, path+index, depth)
	}
}

func (p *printer) entries(fd protoreflect.FieldDescriptor, m protoreflect.Map, path string, depth int) {
	type entry struct {
		key   string
		value protoreflect.Value
	}
	entries := make([]entry, 0, m.Len())
	m.Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		entries = append(entries, entry{k.String(), v})
		return true
	})
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.key, b.key) })
	for _, e := range entries {
		if p.full() {
			return
		}
		key := "[" + e.key + "]"
		p.value(fd.MapValue(), e.value, string(fd.Name())+key, path+key, depth)
	}
}

// value adds the lines of one value. The label is the name of the field with the index.
func (p *printer) value(fd protoreflect.FieldDescriptor, v protoreflect.Value, label, path string, depth int) {
	if fd.Message() == nil {
		p.line(path, depth, label+": "+scalar(fd, v))
		return
	}
	m := v.Message()
	if fd.Message().FullName() == "google.protobuf.Any" {
		p.any(m, label, path, depth)
		return
	}
	if text, ok := short(m); ok {
		p.line(path, depth, label+": "+text)
		return
	}
	p.line(path, depth, label+":")
	p.message(m, path, depth+1)
}

// any adds the lines of the message in an Any, or its size if the program does not link its type.
func (p *printer) any(m protoreflect.Message, label, path string, depth int) {
	fields := m.Descriptor().Fields()
	url, encoded := m.Get(fields.ByName("type_url")).String(), m.Get(fields.ByName("value")).Bytes()
	name := url[strings.LastIndexByte(url, '/')+1:]
	t, err := protoregistry.GlobalTypes.FindMessageByURL(url)
	if err != nil {
		p.line(path, depth, fmt.Sprintf("%s: %s # %d bytes; this program does not link the type", label, name, len(encoded)))
		return
	}
	inner := t.New()
	if err := proto.Unmarshal(encoded, inner.Interface()); err != nil {
		p.line(path, depth, fmt.Sprintf("%s: %s # %d bytes; %v", label, name, len(encoded), err))
		return
	}
	p.line(path, depth, label+": "+name)
	p.message(inner, path, depth+1)
}

// short returns the text of messages that fit on a line: those that the JSON mapping of protobuf writes
// as one value, and empty ones.
func short(m protoreflect.Message) (string, bool) {
	name := m.Descriptor().FullName()
	if name.Parent() != "google.protobuf" {
		empty := true
		m.Range(func(protoreflect.FieldDescriptor, protoreflect.Value) bool { empty = false; return false })
		return "{}", empty && len(m.GetUnknown()) == 0
	}
	text, err := protojson.Marshal(m.Interface())
	if err != nil {
		return "", false
	}
	var compact bytes.Buffer // protojson adds white space at random
	if json.Compact(&compact, text) != nil {
		return "", false
	}
	return compact.String(), true
}

func scalar(fd protoreflect.FieldDescriptor, v protoreflect.Value) string {
	switch fd.Kind() {
	case protoreflect.StringKind:
		return strconv.Quote(v.String())
	case protoreflect.BytesKind:
		return strconv.Quote(string(v.Bytes()))
	case protoreflect.EnumKind:
		if e := fd.Enum().Values().ByNumber(v.Enum()); e != nil {
			return string(e.Name())
		}
		return strconv.Itoa(int(v.Enum()))
	default:
		return v.String()
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
