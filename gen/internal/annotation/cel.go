package annotation

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// comparison is an expression that compares the field, or its size, with a constant.
func comparison() *regexp.Regexp {
	return regexp.MustCompile(`^(this|size\(this\)|this\.size\(\)) *(<=|>=|<|>|==|!=) *(-?[0-9.]+|"[^"\\]*"|'[^'\\]*'|true|false)$`)
}

// present is an expression that a field of the field's message is set.
func present() *regexp.Regexp { return regexp.MustCompile(`^has\(this\.([a-z0-9_]+)\)$`) }

// cel derives rules of an expression of trivial form: comparisons with constants and has, joined by &&,
// and values joined by ||. Others are for hooks.
func (d *deriver) cel(v protoreflect.Value) {
	text := ""
	if m, ok := v.Interface().(protoreflect.Message); ok {
		text = m.Get(m.Descriptor().Fields().ByName("expression")).String()
	} else {
		text = v.String()
	}
	var rules, set []string
	for part := range strings.SplitSeq(text, "&&") {
		part = strings.TrimSpace(part)
		if m := present().FindStringSubmatch(part); m != nil && !d.element && d.field.Message != nil {
			set = append(set, m[1])
			continue
		}
		rule := d.either(part)
		if m := comparison().FindStringSubmatch(part); m != nil {
			rule = d.compared(m[1], m[2], m[3])
		}
		if rule == "" {
			d.skipCEL(text)
			return
		}
		rules = append(rules, rule)
	}
	for _, r := range rules {
		d.add(r)
	}
	for _, name := range set {
		d.out = append(d.out, Rule{Line: fmt.Sprintf("{at: %s.%s, required: true, when: {present: %s}, why: %s}", d.at, name, d.at, d.why)})
	}
}

// compared is the rule that the field, or its size, compares with a constant. It is empty if there is none.
func (d *deriver) compared(subject, operator, constant string) string {
	if subject == "this" {
		return map[string]string{">=": "min", "<=": "max", ">": "above", "<": "below", "==": "in", "!=": "not_in"}[operator] + ": " + constant
	}
	n, err := strconv.Atoi(constant)
	if err != nil || d.list && d.element {
		return ""
	}
	unit := "len"
	if d.field.Desc.Kind() == protoreflect.StringKind && !d.list {
		unit = "chars"
	}
	switch operator {
	case ">", ">=":
		if operator == ">" {
			n++
		}
		if n > 0 {
			return fmt.Sprintf("min_%s: %d", unit, n)
		}
	case "<", "<=":
		if operator == "<" {
			n--
		}
		if n >= 0 {
			return fmt.Sprintf("max_%s: %d", unit, n)
		}
	case "==":
		if n <= 0 {
			return fmt.Sprintf("max_%s: 0", unit)
		}
		return fmt.Sprintf("min_%s: %d, max_%s: %d", unit, n, unit, n)
	}
	return ""
}

// either is the rule that the field is one of the constants of an expression such as this == 1 || this
// == 2. It is empty if the expression has another form.
func (d *deriver) either(text string) string {
	var values []string
	for part := range strings.SplitSeq(text, "||") {
		m := comparison().FindStringSubmatch(strings.TrimSpace(part))
		if len(m) < 4 || m[1] != "this" || m[2] != "==" {
			return ""
		}
		values = append(values, m[3])
	}
	return "in: [" + strings.Join(values, ", ") + "]"
}

// skipCEL notes an expression that is not expressed.
func (d *deriver) skipCEL(text string) {
	d.skip("cel", text)
	d.out[len(d.out)-1].CEL = text
}
