package durable_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/internal/durable"
)

const magic = "test 1\n"

type header struct {
	Name string
	durable.Header
}

// write returns a file with a record of one byte.
func write(t *testing.T, h *header, key []byte) []byte {
	t.Helper()
	b, err := durable.Encode(magic, h, key, 1, func(b []byte) ([]byte, error) { return append(b, 'r'), nil })
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Each way to damage a file has its error. A header that could not be read is not written.
func TestDecode(t *testing.T) {
	plain, key := write(t, &header{Name: "n"}, nil), []byte("0123456789abcdef")
	sealed := write(t, &header{Name: "n"}, key)
	var large header
	large.Name = strings.Repeat("x", durable.MaxHeader+1)
	if _, err := durable.Encode(magic, &large, nil, 0, nil); !errors.Is(err, durable.ErrHeaderSize) {
		t.Errorf("large header: %v, want %v", err, durable.ErrHeaderSize)
	}
	changed := func(b []byte, i int) []byte {
		c := []byte(string(b))
		c[i]++
		return c
	}
	for name, x := range map[string]struct {
		file, key []byte
		want      error
	}{
		"plain":              {plain, nil, nil},
		"sealed":             {sealed, key, nil},
		"another format":     {changed(plain, 0), nil, durable.ErrFormat},
		"only the magic":     {[]byte(magic), nil, durable.ErrTruncated},
		"half a header":      {plain[:len(magic)+3], nil, durable.ErrTruncated},
		"no checksum":        {plain[:len(plain)-2], nil, durable.ErrTruncated},
		"not JSON":           {changed(plain, len(magic)+1), nil, durable.ErrHeader},
		"large header":       {durable.AppendBytes([]byte(magic), large.Name), nil, durable.ErrHeaderSize},
		"another record":     {changed(plain, len(plain)-33), nil, durable.ErrChecksum},
		"without a key":      {sealed, nil, durable.ErrSealed},
		"needless key":       {plain, key, durable.ErrNotSealed},
		"another key":        {sealed, changed(key, 0), durable.ErrKey},
		"half of the record": {sealed[:len(sealed)-1], key, durable.ErrKey},
	} {
		var h header
		f, err := durable.Decode(magic, &h, x.key, []byte(string(x.file)))
		if !errors.Is(err, x.want) {
			t.Errorf("%s: %v, want %v", name, err, x.want)
		}
		if x.want == nil && (h.Name != "n" || string(f.Rest) != "r") {
			t.Errorf("%s: header %+v, records %q", name, h, f.Rest)
		}
	}
}

// Fields are read as they were written. A field that is cut off is empty, and so are all that follow.
func TestFields(t *testing.T) {
	var table durable.Table
	for _, text := range []string{"one", "two", "one"} {
		table.Add(text)
	}
	if !reflect.DeepEqual(table.List, []string{"one", "two"}) {
		t.Errorf("table = %q", table.List)
	}
	at := time.UnixMilli(-5)
	b := durable.AppendBytes(nil, "text")
	b = table.Append(b, "two")
	b = durable.AppendTime(b, at)
	b = durable.AppendTime(b, time.Time{})
	f := durable.Fields{Rest: b}
	if text, of, first, second := f.Text(), f.Of(table.List), f.Time(), f.Time(); text != "text" || of != "two" || !first.Equal(at) || !second.IsZero() || f.Bad || len(f.Rest) != 0 {
		t.Errorf("fields = %q, %q, %v, %v; %+v left", text, of, first, second, f)
	}
	for name, read := range map[string]func(f *durable.Fields) bool{
		"number":   func(f *durable.Fields) bool { return f.Number() == 0 },
		"signed":   func(f *durable.Fields) bool { return f.Signed() == 0 },
		"bytes":    func(f *durable.Fields) bool { return f.Bytes() == nil },
		"position": func(f *durable.Fields) bool { return f.Of([]string{"a"}) == "" },
	} {
		f := durable.Fields{Rest: []byte{0x80}} // a number that goes on
		if !read(&f) || !f.Bad || !read(&f) {
			t.Errorf("%s of a cut field: %+v, want an empty field and Bad", name, f)
		}
	}
	for name, f := range map[string]durable.Fields{"length": {Rest: []byte{2, 'x'}}, "position": {Rest: []byte{1}}} {
		if name == "length" && f.Bytes() != nil || name == "position" && f.Of([]string{"a"}) != "" || !f.Bad {
			t.Errorf("a wrong %s is accepted", name)
		}
	}
}
