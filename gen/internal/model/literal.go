package model

import (
	"math"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/compiler/protogen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
)

// Literal is a value that a descriptor states.
type Literal struct {
	Text string // as it is shown to people
	// Value is a bool, int64, uint64, float32, float64, string, time.Duration or
	// *protogen.EnumValue.
	Value any
}

// same reports whether l and o are one value, however they are written.
func (l Literal) same(o Literal) bool {
	if v, ok := l.Value.(*protogen.EnumValue); ok {
		w, ok := o.Value.(*protogen.EnumValue)
		return ok && v.Desc.Number() == w.Desc.Number()
	}
	return l.Value == o.Value
}

// zero reports whether l is the number 0.
func (l Literal) zero() bool {
	switch l.Value {
	case int64(0), uint64(0), float32(0), float64(0):
		return true
	}
	return false
}

// above reports whether l is greater than o, which is of the same class.
func (l Literal) above(o Literal) bool {
	switch v := l.Value.(type) {
	case int64:
		return v > o.Value.(int64)
	case uint64:
		return v > o.Value.(uint64)
	case float32:
		return v > o.Value.(float32)
	case float64:
		return v > o.Value.(float64)
	case time.Duration:
		return v > o.Value.(time.Duration)
	}
	return false
}

// literal reads t as a value of the class; enum is the type of an Enumeration.
func (b *builder) literal(t descriptor.Text, c Class, enum *protogen.Enum, code diag.Code) (Literal, bool) {
	l := Literal{Text: t.Value}
	var ok bool
	switch c {
	case Bool:
		l.Value, ok = t.Value == "true", t.Tag == "!!bool"
	case Int32, Int64:
		l.Value, ok = parsed(strconv.ParseInt(t.Value, 0, bits(c)))
	case Uint32, Uint64:
		l.Value, ok = parsed(strconv.ParseUint(t.Value, 0, bits(c)))
	case Float, Double:
		f, err := strconv.ParseFloat(t.Value, bits(c))
		l.Value, ok = f, err == nil && !math.IsInf(f, 0) && !math.IsNaN(f)
		if c == Float {
			l.Value = float32(f)
		}
	case String:
		l.Value, l.Text, ok = t.Value, strconv.Quote(t.Value), t.Tag == "!!str"
	case Duration:
		d, err := time.ParseDuration(t.Value)
		l.Value, l.Text, ok = d, d.String(), err == nil
	case Enumeration:
		return b.enumLiteral(t, enum)
	default:
		b.bag.Add(t.Pos, code, "a descriptor cannot state %s as a value", c)
		return l, false
	}
	if !ok {
		hint := ""
		if c == Duration {
			hint = "write it as in Go: 1m30s"
		}
		b.bag.AddHint(t.Pos, code, hint, "%q is not %s", t.Value, c)
	}
	return l, ok
}

func parsed[T any](v T, err error) (any, bool) { return v, err == nil }

func bits(c Class) int {
	switch c {
	case Int32, Uint32, Float:
		return 32
	default:
		return 64
	}
}

func (b *builder) enumLiteral(t descriptor.Text, enum *protogen.Enum) (Literal, bool) {
	names := make([]string, len(enum.Values))
	for i, v := range enum.Values {
		names[i] = string(v.Desc.Name())
		if names[i] == t.Value {
			return Literal{Text: t.Value, Value: v}, true
		}
	}
	hint := diag.Suggest(t.Value, names)
	if hint == "" && len(names) <= 12 {
		hint = "there are " + strings.Join(names, ", ")
	}
	b.bag.AddHint(t.Pos, diag.UnknownValue, hint, "unknown value %q of enum %s", t.Value, enum.Desc.Name())
	return Literal{}, false
}
