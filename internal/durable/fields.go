package durable

import (
	"encoding/binary"
	"time"
)

// Fields reads the fields of records. After an error, Bad is true and fields are empty.
type Fields struct {
	Rest []byte // not read yet
	Bad  bool
}

// Number reads an unsigned number.
func (f *Fields) Number() uint64 {
	v, n := binary.Uvarint(f.Rest)
	f.skip(n)
	return v
}

// Signed reads a number that may be negative.
func (f *Fields) Signed() int64 {
	v, n := binary.Varint(f.Rest)
	f.skip(n)
	return v
}

// skip passes over a number of n bytes. It is malformed if n is not positive.
func (f *Fields) skip(n int) {
	if n <= 0 {
		f.fail()
		return
	}
	f.Rest = f.Rest[n:]
}

// Time reads what [AppendTime] has written.
func (f *Fields) Time() time.Time {
	if ms := f.Signed(); ms != 0 {
		return time.UnixMilli(ms)
	}
	return time.Time{}
}

// Bytes reads what [AppendBytes] has written. The result is a part of the file.
func (f *Fields) Bytes() []byte {
	n := f.Number()
	if n > uint64(len(f.Rest)) {
		f.fail()
		return nil
	}
	field := f.Rest[:n]
	f.Rest = f.Rest[n:]
	return field
}

// Text reads bytes as a string.
func (f *Fields) Text() string { return string(f.Bytes()) }

// Of reads the position of a text in a list, and returns the text.
func (f *Fields) Of(list []string) string {
	i := f.Number()
	if f.Bad || i >= uint64(len(list)) {
		f.fail()
		return ""
	}
	return list[i]
}

func (f *Fields) fail() { f.Rest, f.Bad = nil, true }

// AppendBytes appends the length of a field and the field.
func AppendBytes[T ~[]byte | ~string](b []byte, field T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(field))), field...)
}

// AppendTime appends the Unix time in milliseconds. The zero time is 0.
func AppendTime(b []byte, t time.Time) []byte {
	ms := int64(0)
	if !t.IsZero() {
		ms = t.UnixMilli()
	}
	return binary.AppendVarint(b, ms)
}

// A Table is a list of texts to which records refer by position.
type Table struct {
	List  []string
	index map[string]uint64
}

// Add adds a text if the table does not contain it.
func (t *Table) Add(text string) {
	if _, ok := t.index[text]; ok {
		return
	}
	if t.index == nil {
		t.index = make(map[string]uint64)
	}
	t.index[text] = uint64(len(t.List))
	t.List = append(t.List, text)
}

// Append appends the position of a text of the table.
func (t *Table) Append(b []byte, text string) []byte {
	return binary.AppendUvarint(b, t.index[text])
}
