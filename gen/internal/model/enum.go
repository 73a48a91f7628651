package model

import (
	"cmp"
	"go/token"
	"slices"
	"strings"
	"unicode"

	"google.golang.org/protobuf/compiler/protogen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
)

// enum builds the constants of an enum field. Two fields may share the type.
func (b *builder) enum(f *Field, d *descriptor.Field) (*Enum, bool) {
	if !b.typeName(d.Type) {
		return nil, false
	}
	if c := f.element().Class(); c != Enumeration {
		b.bag.Add(d.Enum[0].Pos, diag.WrongShape, "%s is %s, not an enum", d.From[0].Value, c)
		return nil, false
	}
	source := f.element().Leaf().Enum
	e := &Enum{Pos: d.Name.Pos, Name: cmp.Or(d.Type.Value, d.Name.Value), Enum: source}
	values, ok := b.enumValues(d.Enum, source)
	if !ok {
		return nil, false
	}
	prefix := commonPrefix(source, values)
	for _, v := range values {
		e.Values = append(e.Values, EnumValue{Name: e.Name + camel(strings.TrimPrefix(string(v.Desc.Name()), prefix)), Value: v})
	}
	if d.Otherwise.Given() {
		i := slices.IndexFunc(e.Values, func(v EnumValue) bool { return string(v.Value.Desc.Name()) == d.Otherwise.Value })
		if i < 0 {
			b.bag.Add(d.Otherwise.Pos, diag.UnknownValue, "otherwise = %q; must be one of the values of %s", d.Otherwise.Value, e.Name)
			return nil, false
		}
		e.Otherwise = &e.Values[i]
	}
	return b.shareEnum(e)
}

// shareEnum takes the enum that is there already where it is the same.
func (b *builder) shareEnum(e *Enum) (*Enum, bool) {
	other, ok := b.enums[e.Name]
	if !ok {
		b.enums[e.Name] = e
		b.pkg.Enums = append(b.pkg.Enums, e)
		return e, true
	}
	same := other.Enum == e.Enum && slices.Equal(other.Values, e.Values) && (other.Otherwise == nil) == (e.Otherwise == nil)
	if same && e.Otherwise != nil {
		same = *other.Otherwise == *e.Otherwise
	}
	if !same {
		b.bag.AddHint(e.Pos, diag.NameClash, "give one of them another `type`", "enum %s is declared differently in line %d", e.Name, other.Line)
		return nil, false
	}
	return other, true
}

func (b *builder) enumValues(texts []descriptor.Text, source *protogen.Enum) ([]*protogen.EnumValue, bool) {
	if len(texts) == 1 && texts[0].Value == "all" {
		return slices.DeleteFunc(slices.Clone(source.Values), func(v *protogen.EnumValue) bool {
			return slices.IndexFunc(source.Values, func(o *protogen.EnumValue) bool { return o.Desc.Number() == v.Desc.Number() }) != v.Desc.Index()
		}), true
	}
	var values []*protogen.EnumValue
	ok := true
	for _, t := range texts {
		l, fine := b.enumLiteral(t, source)
		if ok = ok && fine; !fine {
			continue
		}
		v := l.Value.(*protogen.EnumValue)
		if slices.ContainsFunc(values, func(o *protogen.EnumValue) bool { return o.Desc.Number() == v.Desc.Number() }) {
			b.bag.Add(t.Pos, diag.BadValue, "value %s is listed twice", t.Value)
			ok = false
		}
		values = append(values, v)
	}
	return values, ok
}

// commonPrefix is the enum's name in upper case, where all values have it.
func commonPrefix(source *protogen.Enum, values []*protogen.EnumValue) string {
	var prefix strings.Builder
	for i, r := range source.Desc.Name() {
		if i > 0 && unicode.IsUpper(r) {
			prefix.WriteByte('_')
		}
		prefix.WriteRune(unicode.ToUpper(r))
	}
	prefix.WriteByte('_')
	for _, v := range values {
		rest, ok := strings.CutPrefix(string(v.Desc.Name()), prefix.String())
		if !ok || rest == "" {
			return ""
		}
	}
	return prefix.String()
}

// camel makes "RoundRobin" of "ROUND_ROBIN" and of "round_robin".
func camel(s string) string {
	var out strings.Builder
	for part := range strings.SplitSeq(s, "_") {
		if part != "" {
			out.WriteString(strings.ToUpper(part[:1]) + strings.ToLower(part[1:]))
		}
	}
	return out.String()
}

func isExportedName(s string) bool { return token.IsIdentifier(s) && token.IsExported(s) }
