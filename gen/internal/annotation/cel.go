package annotation

import (
	"regexp"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// comparison is an expression that compares the field, or its size, with a constant.
func comparison() *regexp.Regexp {
	return regexp.MustCompile(`^(this|size\(this\)|this\.size\(\)) *(<=|>=|<|>|==|!=) *(-?[0-9.]+|"[^"\\]*"|'[^'\\]*'|true|false)$`)
}

// cel derives rules of an expression of trivial form: comparisons with constants, joined by
// &&. Others are for hooks.
func (d *deriver) cel(v protoreflect.Value) {
	text := ""
	if m, ok := v.Interface().(protoreflect.Message); ok {
		text = m.Get(m.Descriptor().Fields().ByName("expression")).String()
	} else {
		text = v.String()
	}
	var rules []string
	for part := range strings.SplitSeq(text, "&&") {
		m := comparison().FindStringSubmatch(strings.TrimSpace(part))
		if m == nil {
			d.skipCEL(text)
			return
		}
		key := map[string]string{">=": "min", "<=": "max", ">": "above", "<": "below", "==": "in", "!=": "not_in"}[m[2]]
		if m[1] != "this" {
			key = map[string]string{">=": "min_", "<=": "max_"}[m[2]]
			if key == "" || d.list && d.element {
				d.skipCEL(text)
				return
			}
			unit := "len"
			if d.field.Desc.Kind() == protoreflect.StringKind && !d.list {
				unit = "chars"
			}
			key += unit
		}
		rules = append(rules, key+": "+m[3])
	}
	for _, r := range rules {
		d.add(r)
	}
}

// skipCEL notes an expression that is not expressed.
func (d *deriver) skipCEL(text string) {
	d.skip("cel", text)
	d.out[len(d.out)-1].CEL = text
}
