package annotation

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// predefinedNumber is the number of the option of extensions with the expressions of a predefined rule.
const predefinedNumber protowire.Number = 1160

// options returns the rules among some options. It notes options that cannot be read.
func (d *deriver) options(rules protoreflect.Message, err error) protoreflect.Message {
	if err != nil {
		d.option = "the option"
		d.skip("the option, which cannot be read", err)
	}
	return rules
}

// undeclared derives the rules of the options in a message such as StringRules that its descriptor does not declare. They are
// predefined rules of protovalidate, or options of a later version.
func (d *deriver) undeclared(rules protoreflect.Message) {
	of, outer := rules.Descriptor().FullName(), d.option
	for _, num := range unknown(rules) {
		if x := d.index.Extension(of, num); x != nil {
			d.option = fmt.Sprintf("%s.(%s)", outer, x.Desc.FullName())
			d.predefined(x, rules)
		} else {
			d.option = fmt.Sprintf("%s.%d", outer, num)
			d.skip(fmt.Sprintf("option %d of %s, which its proto file does not declare,", num, of), "set")
		}
	}
	d.option = outer
}

// predefined derives the rules of one predefined rule. Its expressions apply with the value that the field gives to it.
func (d *deriver) predefined(x *protogen.Extension, rules protoreflect.Message) {
	name := fmt.Sprintf("predefined rule %s", x.Desc.FullName())
	value, err := extension(rules.Interface(), x.Desc.Number(), d.index)
	if err != nil {
		d.skip(name+", which cannot be read", err)
		return
	}
	name = fmt.Sprintf("%s = %v, cel", name, shown(value))
	expressions := predefinedExpressions(x, d.index)
	if len(expressions) == 0 {
		d.skip(name, "unknown")
	}
	for _, text := range expressions {
		constant := celConstant(value)
		inText := func(s string) bool { return ruleWord.MatchString(s) }
		if constant == "" || rulesWord.MatchString(text) || slices.ContainsFunc(quoted.FindAllString(text, -1), inText) {
			d.hook(name, text)
			continue
		}
		d.expression(name, ruleWord.ReplaceAllLiteralString(text, constant))
	}
}

// predefinedExpressions returns the expressions in the option buf.validate.predefined of an extension.
func predefinedExpressions(x *protogen.Extension, index Index) []string {
	v, _ := extension(x.Desc.Options(), predefinedNumber, index)
	option, ok := v.Interface().(protoreflect.Message)
	if !ok {
		return nil
	}
	var out []string
	each(option, func(_ string, fd protoreflect.FieldDescriptor, v protoreflect.Value) {
		if fd.IsList() {
			out = append(out, slice.Map(elements(v), celText)...)
		}
	})
	return out
}

// celConstant is a value in CEL, empty if it has no short form.
func celConstant(v protoreflect.Value) string {
	switch x := v.Interface().(type) {
	case bool, int32, int64:
		return fmt.Sprint(x)
	case uint32, uint64:
		return fmt.Sprintf("%du", x)
	case float32, float64:
		text := finite(v.Float(), 64)
		if text != "" && !strings.Contains(text, ".") {
			text += ".0"
		}
		return text
	case string:
		if !strings.ContainsAny(x, "'\\\n") {
			return "'" + x + "'"
		}
	}
	return ""
}
