package model

import (
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/compiler/protogen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// Literal is a value that a descriptor states.
type Literal struct {
	Text string // as it is shown to people
	// Value is a bool, int64, uint64, float32, float64, string, time.Duration or
	// *protogen.EnumValue.
	Value any
}

// key is the value, or the number of an enum's value.
func (l Literal) key() any {
	if v, ok := l.Value.(*protogen.EnumValue); ok {
		return v.Desc.Number()
	}
	return l.Value
}

// same reports whether l and o are one value, however they are written.
func (l Literal) same(o Literal) bool { return l.key() == o.key() }

// Zero reports whether l is the zero value of its type.
func (l Literal) Zero() bool { return reflect.ValueOf(l.key()).IsZero() }

// above reports whether l is greater than o, which is of the same class.
func (l Literal) above(o Literal) bool {
	v, w := reflect.ValueOf(l.Value), reflect.ValueOf(o.Value)
	switch {
	case v.CanInt():
		return v.Int() > w.Int()
	case v.CanUint():
		return v.Uint() > w.Uint()
	}
	return v.CanFloat() && v.Float() > w.Float()
}

// literal reads t as a value of the class; enum is the type of an Enumeration.
func (b *builder) literal(t descriptor.Text, c Class, enum *protogen.Enum, code diag.Code) Literal {
	l, ok, bits, hint := Literal{Text: t.Value}, true, 64, ""
	var err error
	if c == Int32 || c == Uint32 || c == Float {
		bits = 32
	}
	switch c {
	case Bool:
		l.Value, ok = t.Value == "true", t.Tag == "!!bool"
	case Int32, Int64:
		l.Value, err = strconv.ParseInt(t.Value, 0, bits)
	case Uint32, Uint64:
		l.Value, err = strconv.ParseUint(t.Value, 0, bits)
	case Float, Double:
		var f float64
		f, err = strconv.ParseFloat(t.Value, bits)
		l.Value, ok = f, !math.IsInf(f, 0) && !math.IsNaN(f)
		if c == Float {
			l.Value = float32(f)
		}
	case String:
		l.Value, l.Text, ok = t.Value, strconv.Quote(t.Value), t.Tag == "!!str"
	case Duration:
		var d time.Duration
		d, err = time.ParseDuration(t.Value)
		l.Value, l.Text, hint = d, d.String(), "write it as in Go: 1m30s"
	case Enumeration:
		return b.enumLiteral(t, enum)
	default:
		panic(b.fault(t.Pos, code, "", "a descriptor cannot state %s as a value", c))
	}
	b.requireHint(ok && err == nil, t, code, hint, "%q is not %s", t.Value, c)
	return l
}

func (b *builder) enumLiteral(t descriptor.Text, enum *protogen.Enum) Literal {
	names := slice.Map(enum.Values, ValueName)
	if i := slices.Index(names, t.Value); i >= 0 {
		return Literal{Text: t.Value, Value: enum.Values[i]}
	}
	hint := diag.Suggest(t.Value, names)
	if hint == "" && len(names) <= 12 {
		hint = "there are " + strings.Join(names, ", ")
	}
	panic(b.fault(t.Pos, diag.UnknownValue, hint, "unknown value %q of enum %s", t.Value, enum.Desc.Name()))
}
