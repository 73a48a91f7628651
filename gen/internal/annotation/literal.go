package annotation

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// typeRules derives the rules of one message such as UInt32Rules.
func (d *deriver) typeRules(rules protoreflect.Message) {
	bounds := make(map[bool][]string) // by whether they exclude the limit
	var options []string
	if e := rules.Descriptor().Fields().ByName("ignore_empty"); e != nil && rules.Get(e).Bool() {
		d.empty, d.zero = true, d.element || d.field.Desc.HasPresence()
	}
	outside, outer := excludes(rules), d.option
	var ends []string // of the range that the bounds exclude
	each(rules, func(name string, fd protoreflect.FieldDescriptor, v protoreflect.Value) {
		d.option = outer + "." + name
		key := map[string]string{"gt": "above", "gte": "min", "lt": "below", "lte": "max"}[name]
		switch {
		case key != "" && outside:
			ends = append(ends, fmt.Sprintf("%s = %v", name, shown(v)))
		case key != "" && d.literal(fd, v) != "":
			if options = append(options, name); key != "min" || d.literal(fd, v) != "0" || !unsigned(fd.Kind()) {
				exclusive := name == "gt" || name == "lt"
				bounds[exclusive] = append(bounds[exclusive], key+": "+d.literal(fd, v))
			}
		case name == "const" || name == "in" || name == "not_in":
			d.values(name, fd, v)
		default:
			d.constraint(name, fd, v, rules)
		}
	})
	if len(ends) > 0 {
		d.option = outer
		d.skip("a range to exclude", "("+strings.Join(ends, " or ")+")")
	}
	d.option = outer + "." + strings.Join(options, ", ")
	if len(bounds) > 0 {
		d.notNaN()
	}
	for _, exclusive := range []bool{false, true} {
		if args := bounds[exclusive]; len(args) > 0 {
			d.add(strings.Join(args, ", "))
		}
	}
	d.option = outer
	d.undeclared(rules)
}

// notNaN derives that a number is not NaN. Bounds of protovalidate exclude it; those of protoc-gen-validate, and those of
// rules, do not.
func (d *deriver) notNaN() {
	if d.why != "PGV" && d.float() {
		d.skip("NaN", "excluded")
	}
}

// unsigned reports whether numbers of a kind have no sign.
func unsigned(kind protoreflect.Kind) bool {
	return strings.HasPrefix(kind.String(), "uint") || strings.HasPrefix(kind.String(), "fixed")
}

// excludes reports whether the bounds of rules exclude the values between them.
func excludes(rules protoreflect.Message) bool {
	bound := func(names ...protoreflect.Name) *big.Float {
		for _, name := range names {
			fd := rules.Descriptor().Fields().ByName(name)
			if fd == nil || !rules.Has(fd) {
				continue
			}
			if m, ok := rules.Get(fd).Interface().(protoreflect.Message); ok {
				return new(big.Float).SetInt(nanoseconds(m))
			}
			if f, _, err := big.ParseFloat(fmt.Sprint(rules.Get(fd).Interface()), 10, 128, big.ToNearestEven); err == nil {
				return f
			}
		}
		return nil
	}
	lo, hi := bound("gt", "gte"), bound("lt", "lte")
	return lo != nil && hi != nil && lo.Cmp(hi) > 0
}

// values derives a rule that compares with constants.
func (d *deriver) values(name string, fd protoreflect.FieldDescriptor, v protoreflect.Value) {
	texts := slice.Map(elements(v), func(v protoreflect.Value) string { return d.literal(fd, v) })
	key := cmp.Or(map[string]string{"const": "in"}[name], name)
	if fd.Message() != nil || slices.Contains(texts, "") || fd.Kind() == protoreflect.BytesKind {
		d.skip(name, v)
		return
	}
	if d.field.Message != nil && d.field.Message.Desc.FullName() == "google.protobuf.Any" {
		for i, t := range texts {
			text, _ := strconv.Unquote(t)
			texts[i] = text[strings.LastIndexByte(text, '/')+1:]
		}
		if key = "any_type"; name == "not_in" {
			d.skip(name, v)
			return
		}
		d.skip("the part of a type URL before the type in "+name, v)
	}
	d.add(key + ": [" + strings.Join(once(texts), ", ") + "]")
}

// once returns the texts without repetitions, in their order.
func once(texts []string) []string {
	var out []string
	for _, t := range texts {
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// literal is a value in YAML; empty if it cannot be one.
func (d *deriver) literal(fd protoreflect.FieldDescriptor, v protoreflect.Value) string {
	switch x := v.Interface().(type) {
	case protoreflect.Message:
		if n := nanoseconds(x); x.Descriptor().FullName() == "google.protobuf.Duration" && n.IsInt64() {
			return time.Duration(n.Int64()).String()
		}
		return ""
	case string:
		return strconv.Quote(x)
	case int32:
		if d.field.Enum != nil {
			return d.enumName(strconv.Itoa(int(x)))
		}
		return fmt.Sprint(x)
	case float32, float64:
		return finite(v.Float(), bitsOf(fd.Kind()))
	case []byte:
		return ""
	default:
		return fmt.Sprint(x)
	}
}

// finite is a floating-point number in YAML and CEL, empty if it has no digits.
func finite(f float64, bits int) string {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return ""
	}
	return strconv.FormatFloat(f, 'f', -1, bits)
}

// enumName is the name of a number of the enum, in YAML. It is empty if the number has none.
func (d *deriver) enumName(number string) string {
	for _, v := range d.field.Enum.Values {
		if strconv.Itoa(int(v.Desc.Number())) == number {
			return word(string(v.Desc.Name()))
		}
	}
	return ""
}

// word is a name or path in YAML, in which some names are no text.
func word(name string) string {
	if slices.Contains([]string{"null", "true", "false"}, strings.ToLower(name)) {
		return strconv.Quote(name)
	}
	return name
}

// nanoseconds is the length of a Duration.
func nanoseconds(m protoreflect.Message) *big.Int {
	fields := m.Descriptor().Fields()
	seconds := big.NewInt(m.Get(fields.ByName("seconds")).Int())
	return seconds.Add(seconds.Mul(seconds, big.NewInt(int64(time.Second))), big.NewInt(m.Get(fields.ByName("nanos")).Int()))
}

// size derives a rule about a size; the kind is that of a rule, or the unit for a minimum that is the maximum. No value is
// larger than an int.
func (d *deriver) size(kind string, n uint64, name string) {
	side, unit, bound := strings.Cut(kind, "_")
	switch huge := n > math.MaxInt; {
	case side == "max" && huge: // no constraint
	case huge:
		d.skip(name, n)
	case !bound:
		d.add(sizes(kind, int(n), int(n)))
	case side == "max":
		d.add(sizes(unit, 0, int(n)))
	case n > 0:
		d.add(sizes(unit, int(n), -1))
	}
}

// sizes is the rule that a size is between two numbers. It is empty if there is no limit. A maximum of -1 is none.
func sizes(unit string, least, most int) string {
	var bounds []string
	if least > 0 {
		bounds = append(bounds, fmt.Sprintf("min_%s: %d", unit, least))
	}
	if most >= 0 {
		bounds = append(bounds, fmt.Sprintf("max_%s: %d", unit, most))
	}
	return strings.Join(bounds, ", ")
}

// comparable reports whether a rule can compare the elements of the field.
func (d *deriver) comparable() bool {
	return d.field.Message == nil && d.field.Desc.Kind() != protoreflect.BytesKind
}
