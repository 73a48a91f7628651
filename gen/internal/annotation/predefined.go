package annotation

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
)

// The number of the extension of FieldOptions with the expressions of a predefined rule, and its message.
const (
	predefinedNumber protowire.Number = 1160
	predefinedRules                   = "buf.validate.PredefinedRules"
)

// unreadable notes that an option of the library could not be read.
func (d *deriver) unreadable(_ protoreflect.Message, err error) {
	if err != nil {
		d.option = "the option"
		d.skip("the option, which cannot be read", err)
	}
}

// unknown derives the rules of the options in a message such as StringRules that its descriptor does not declare. They are
// predefined rules of protovalidate, or options of a later version.
func (d *deriver) unknown(rules protoreflect.Message) {
	var numbers []protowire.Number
	for data := rules.GetUnknown(); len(data) > 0; {
		num, _, n := protowire.ConsumeField(data)
		if n < 0 {
			break
		}
		if data = data[n:]; !slices.Contains(numbers, num) {
			numbers = append(numbers, num)
		}
	}
	slices.Sort(numbers)
	of, outer := rules.Descriptor().FullName(), d.option
	for _, num := range numbers {
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

// ruleWord is the value of a predefined rule in its expression, and rulesWord all rules of the field.
func ruleWord() *regexp.Regexp  { return regexp.MustCompile(`\brule\b`) }
func rulesWord() *regexp.Regexp { return regexp.MustCompile(`\brules\b`) }

// predefined derives the rules of one predefined rule. Its expressions apply with the value that the field gives to it.
func (d *deriver) predefined(x *protogen.Extension, rules protoreflect.Message) {
	name := fmt.Sprintf("predefined rule %s", x.Desc.FullName())
	value, err := extensionValue(x, rules)
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
		inText := func(s string) bool { return ruleWord().MatchString(s) }
		if constant == "" || rulesWord().MatchString(text) || slices.ContainsFunc(quoted().FindAllString(text, -1), inText) {
			d.hook(name, text)
			continue
		}
		d.expression(name, ruleWord().ReplaceAllLiteralString(text, constant))
	}
}

// extensionValue returns the value of an extension of a message that has it as an unknown field.
func extensionValue(x *protogen.Extension, rules protoreflect.Message) (protoreflect.Value, error) {
	typ, types := dynamicpb.NewExtensionType(x.Desc), new(protoregistry.Types)
	if err := types.RegisterExtension(typ); err != nil {
		return protoreflect.Value{}, err
	}
	m := dynamicpb.NewMessage(rules.Descriptor())
	if err := (proto.UnmarshalOptions{Resolver: types}).Unmarshal(rules.GetUnknown(), m); err != nil {
		return protoreflect.Value{}, err
	}
	return m.Get(typ.TypeDescriptor()), nil
}

// predefinedExpressions returns the expressions in the option buf.validate.predefined of an extension.
func predefinedExpressions(x *protogen.Extension, index Index) []string {
	s := source{number: predefinedNumber}
	option, err := s.option(x.Desc.Options(), predefinedRules, index)
	if err != nil || option == nil {
		return nil
	}
	var out []string
	each(option, func(_ string, fd protoreflect.FieldDescriptor, v protoreflect.Value) {
		for i := 0; fd.IsList() && i < v.List().Len(); i++ {
			out = append(out, celText(v.List().Get(i)))
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
		if math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0) {
			return ""
		}
		text := strconv.FormatFloat(v.Float(), 'f', -1, 64)
		if !strings.Contains(text, ".") {
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
