package model

import (
	"cmp"
	"go/token"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// enum builds the constants of an enum field. Two fields may share the type.
func (b *builder) enum(f *Field, d *descriptor.Field) *Enum {
	b.typeName(d.Type)
	c := f.element().Class()
	b.require(c == Enumeration, d.Enum[0], diag.WrongShape, "%s is %s, not an enum", d.From[0].Value, c)
	source := f.element().Leaf().Enum
	e := &Enum{Pos: d.Name.Pos, Name: cmp.Or(d.Type.Value, d.Name.Value), Enum: source}
	values := b.enumValues(d.Enum, source)
	prefix := commonPrefix(source, values)
	e.Values = slice.Map(values, func(v *protogen.EnumValue) EnumValue {
		return EnumValue{Name: e.Name + camel(strings.TrimPrefix(ValueName(v), prefix)), Value: v}
	})
	if d.Otherwise.Given() {
		i := slices.IndexFunc(e.Values, func(v EnumValue) bool { return string(v.Value.Desc.Name()) == d.Otherwise.Value })
		b.require(i >= 0, d.Otherwise, diag.UnknownValue, "otherwise = %q; must be one of the values of %s", d.Otherwise.Value, e.Name)
		e.Otherwise = &e.Values[i]
	}
	return b.shareEnum(e)
}

// ValueName is the name of a value in protobuf.
func ValueName(v *protogen.EnumValue) string { return string(v.Desc.Name()) }

// shareEnum takes the enum that is there already where it is the same.
func (b *builder) shareEnum(e *Enum) *Enum {
	other, ok := b.enums[e.Name]
	if !ok {
		b.enums[e.Name] = e
		b.pkg.Enums = append(b.pkg.Enums, e)
		return e
	}
	same := other.Enum == e.Enum && slices.Equal(other.Values, e.Values) && (other.Otherwise == nil) == (e.Otherwise == nil)
	same = same && (e.Otherwise == nil || *other.Otherwise == *e.Otherwise)
	b.requireHint(same, descriptor.Text{Pos: e.Pos}, diag.NameClash, "give one of them another `type`", "enum %s is declared differently in line %d", e.Name, other.Line)
	return other
}

func (b *builder) enumValues(texts []descriptor.Text, source *protogen.Enum) []*protogen.EnumValue {
	seen := make(map[protoreflect.EnumNumber]bool)
	first := func(v *protogen.EnumValue) bool {
		again := seen[v.Desc.Number()]
		seen[v.Desc.Number()] = true
		return !again
	}
	if len(texts) == 1 && texts[0].Value == "all" {
		return slice.Filter(source.Values, first)
	}
	var values []*protogen.EnumValue
	each(texts, func(t descriptor.Text) {
		v := b.enumLiteral(t, source).Value.(*protogen.EnumValue)
		b.require(first(v), t, diag.BadValue, "value %s is listed twice", t.Value)
		values = append(values, v)
	})
	return values
}

// innerUpper is an upper-case letter inside of a name.
var innerUpper = regexp.MustCompile(`\B[A-Z]`)

// commonPrefix is the enum's name in upper case, where all values have it.
func commonPrefix(source *protogen.Enum, values []*protogen.EnumValue) string {
	prefix := strings.ToUpper(innerUpper.ReplaceAllString(string(source.Desc.Name()), "_$0")) + "_"
	for _, v := range values {
		if rest, ok := strings.CutPrefix(ValueName(v), prefix); !ok || rest == "" {
			return ""
		}
	}
	return prefix
}

func isExportedName(s string) bool { return token.IsIdentifier(s) && token.IsExported(s) }
