package annotation

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"
)

var (
	// comparison is an expression that compares the field, or its size, with a constant.
	comparison = regexp.MustCompile(`^(this|size\(this\)|this\.size\(\)) *(<=|>=|<|>|==|!=) *(?:(-?[0-9.]+)u?|("[^"\\]*"|'[^'\\]*'|true|false))$`)
	// presence is an expression that a field of a message is set.
	presence = regexp.MustCompile(`^has\(this\.([a-z0-9_]+)\)$`)
	// member is a field of a message in an expression about the message.
	member = regexp.MustCompile(`\bthis\.([a-z0-9_]+)\b`)
	// quoted is a text in an expression.
	quoted = regexp.MustCompile(`"[^"]*"|'[^']*'`)
	// ruleWord is the value of a predefined rule in its expression, and rulesWord all rules of the field.
	ruleWord, rulesWord = regexp.MustCompile(`\brule\b`), regexp.MustCompile(`\brules\b`)
)

// celText is the text of an expression, which can be in a message with its name.
func celText(v protoreflect.Value) string {
	if m, ok := v.Interface().(protoreflect.Message); ok {
		return m.Get(m.Descriptor().Fields().ByName("expression")).String()
	}
	return v.String()
}

// expression derives rules of an expression of trivial form: comparisons with constants and has, joined by &&,
// or comparisons joined by ||. Others are for hooks. The name is that of the option with the expression.
func (d *deriver) expression(name, text string) {
	before := len(d.out)
	parts := strings.Split(text, "&&")
	if len(parts) > 1 && strings.Contains(text, "||") {
		parts = []string{text} // parentheses and precedence are for hooks
	}
	for _, part := range parts {
		if !d.expressed(strings.TrimSpace(part)) {
			d.out = d.out[:before]
			d.hook(name, text)
			return
		}
	}
}

// hook notes an expression that is for a hook.
func (d *deriver) hook(name, text string) {
	d.skip(name, text)
	d.out[len(d.out)-1].CEL = text
}

// expressed adds the rule that is equal to a part of an expression. It reports whether there is one.
func (d *deriver) expressed(part string) bool {
	if d.field == nil {
		return d.memberExpressed(part)
	}
	if m := presence.FindStringSubmatch(part); m != nil && !d.element && d.field.Message != nil && d.field.Message.Desc.ParentFile().Package() != "google.protobuf" {
		d.out = append(d.out, Rule{Line: fmt.Sprintf("{at: %s.%s, required: true, when: {present: %s}, why: %s}", d.at, m[1], word(d.at), d.why), Origin: d.origin()})
		return true
	}
	rule := d.either(part)
	if m := comparison.FindStringSubmatch(part); m != nil {
		rule = d.compared(m[1], m[2], m[3]+m[4])
	}
	if rule == "" {
		return false
	}
	if bound, _, _ := strings.Cut(rule, ": "); slices.Contains([]string{"min", "max", "above", "below"}, bound) {
		d.notNaN()
	}
	d.add(rule)
	return true
}

// memberExpressed is [deriver.expressed] for an expression about a message: its fields are members of `this`.
// An absent field counts as zero in such an expression, which rules only do for fields without presence.
func (d *deriver) memberExpressed(part string) bool {
	found := member.FindStringSubmatch(part)
	if len(found) == 0 || slices.ContainsFunc(quoted.FindAllString(part, -1), func(text string) bool { return strings.Contains(text, found[0]) }) {
		return false
	}
	i := slices.IndexFunc(d.message.Fields, func(f *protogen.Field) bool { return string(f.Desc.Name()) == found[1] })
	if i < 0 {
		return false
	}
	inner := newDeriver(d.index, d.why, d.message.Fields[i], d.path, d.present)
	inner.option = d.option
	switch {
	case presence.MatchString(part):
		inner.add("required: true")
	case inner.field.Desc.HasPresence(), !inner.expressed(strings.ReplaceAll(part, found[0], "this")):
		return false
	}
	d.out = append(d.out, inner.out...)
	return true
}

// compared is the rule that the field, or its size, compares with a constant. It is empty if there is none.
func (d *deriver) compared(subject, operator, constant string) string {
	if subject == "this" {
		if d.field.Enum != nil {
			constant = d.enumName(constant)
		}
		if constant == "" || !d.comparesExactly(operator, constant) {
			return ""
		}
		return map[string]string{">=": "min", "<=": "max", ">": "above", "<": "below", "==": "in", "!=": "not_in"}[operator] + ": " + constant
	}
	n, err := strconv.Atoi(constant)
	if err != nil || n < 0 || d.element && (d.field.Desc.IsList() || d.field.Desc.Kind() != protoreflect.StringKind) {
		return "" // the size of an element has no rule, unless it is a text
	}
	unit := "len"
	if !d.field.Desc.IsList() && d.kind() == protoreflect.StringKind {
		unit = "chars"
	}
	least, most := 0, -1 // no limits
	switch operator {
	case ">":
		least = n + 1
	case ">=":
		least = n
	case "<":
		most = n - 1
	case "<=":
		most = n
	case "==":
		least, most = n, n
	}
	return sizes(unit, least, most)
}

// comparesExactly reports whether a rule that compares the field with the constant has the result of the expression. Texts,
// bools and enums have no order in rules. An unsigned number is always at least 0. CEL compares a float with a double.
func (d *deriver) comparesExactly(operator, constant string) bool {
	switch kind := d.kind(); {
	case kind == protoreflect.EnumKind || kind == protoreflect.StringKind || kind == protoreflect.BoolKind:
		return operator == "==" || operator == "!="
	case d.float():
		f, err := strconv.ParseFloat(constant, 64)
		return err == nil && (kind == protoreflect.DoubleKind || float64(float32(f)) == f)
	case unsigned(kind):
		n, err := strconv.ParseUint(constant, 10, bitsOf(kind))
		return err == nil && (operator != ">=" || n > 0)
	case kind == protoreflect.BytesKind || kind == protoreflect.MessageKind || kind == protoreflect.GroupKind:
		return false
	default:
		_, err := strconv.ParseInt(constant, 10, bitsOf(kind))
		return err == nil
	}
}

// bitsOf is the size of the numbers of a kind.
func bitsOf(kind protoreflect.Kind) int {
	if kind == protoreflect.FloatKind || strings.HasSuffix(kind.String(), "32") {
		return 32
	}
	return 64
}

// kind is the kind of the field, or of the value in a wrapper.
func (d *deriver) kind() protoreflect.Kind {
	if m := d.field.Message; m != nil && m.Desc.ParentFile().Path() == "google/protobuf/wrappers.proto" {
		return m.Fields[0].Desc.Kind()
	}
	return d.field.Desc.Kind()
}

// float reports whether the field is a floating-point number.
func (d *deriver) float() bool {
	return d.kind() == protoreflect.FloatKind || d.kind() == protoreflect.DoubleKind
}

// either is the rule that the field is one of the constants of an expression such as this == 1 || this
// == 2. It is empty if the expression has another form.
func (d *deriver) either(text string) string {
	var values []string
	for part := range strings.SplitSeq(text, "||") {
		m := comparison.FindStringSubmatch(strings.TrimSpace(part))
		if len(m) == 0 || m[1] != "this" || m[2] != "==" {
			return ""
		}
		value, ok := strings.CutPrefix(d.compared(m[1], m[2], m[3]+m[4]), "in: ")
		if !ok {
			return ""
		}
		values = append(values, value)
	}
	return "in: [" + strings.Join(once(values), ", ") + "]"
}
