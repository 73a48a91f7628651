package resource

import (
	"cmp"
	"fmt"
	"net/mail"
	"net/netip"
	"net/url"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// The patterns of protoc-gen-validate.
const (
	headerNamePattern  = "^:?[0-9a-zA-Z!#$%&'*+-.^_|~\x60]+$"
	headerValuePattern = `^[^\x00-\x08\x0A-\x1F\x7F]*$`
	headerPattern      = `^[^\x00\x0A\x0D]*$` // of names and values that are not strict
	uuidPattern        = `^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`
	hostnamePattern    = `^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*\.?$`
)

// scalar checks a value that is not a message with fields of its own. Of an Any, it is the type URL.
func (a *annotations) scalar(v *Violations, p Path, f protoreflect.FieldDescriptor, x protoreflect.Value, r protoreflect.Message) {
	if r == nil || flag(r, "ignore_empty") && isZero(x) {
		return
	}
	broken := func(format string, args ...any) { v.Add(p, rawValue(x.Interface()), fmt.Sprintf(format, args...)) }
	a.bounds(x, r, broken)
	r.Range(func(o protoreflect.FieldDescriptor, want protoreflect.Value) bool {
		switch name := o.Name(); name {
		case "const":
			if compare(x, want) != 0 {
				broken("value must equal %v", show(rawValue(want.Interface())))
			}
		case "in", "not_in":
			if contains(want.List(), x) != (name == "in") {
				broken("value must be in the list of the rule %s", name)
			}
		case "defined_only":
			if want.Bool() && f.Enum() != nil && f.Enum().Values().ByNumber(x.Enum()) == nil {
				broken("value must be one of the defined enum values")
			}
		default:
			if !a.text(string(name), want, x, r) {
				broken("value must fulfil the rule %s = %v", name, want)
			}
		}
		return true
	})
}

// bounds checks the limits of a number, duration or timestamp.
func (a *annotations) bounds(x protoreflect.Value, r protoreflect.Message, broken func(string, ...any)) {
	above, below := true, true // x is above the lower and below the upper limit
	var lo, hi protoreflect.Value
	var texts []string
	for _, limit := range []struct {
		name, text string
		fits       func(int) bool
	}{
		{"gt", "greater than", func(c int) bool { return c > 0 }},
		{"gte", "at least", func(c int) bool { return c >= 0 }},
		{"lt", "less than", func(c int) bool { return c < 0 }},
		{"lte", "at most", func(c int) bool { return c <= 0 }},
	} {
		bound, ok := get(r, limit.name)
		if !ok {
			continue
		}
		texts = append(texts, fmt.Sprintf("%s %v", limit.text, show(rawValue(bound.Interface()))))
		if fits := limit.fits(compare(x, bound)); limit.name[0] == 'g' {
			lo, above = bound, fits
		} else {
			hi, below = bound, fits
		}
	}
	fits, conjunction := above && below, " and "
	if lo.IsValid() && hi.IsValid() && compare(lo, hi) > 0 { // the values between the limits are excluded
		fits, conjunction = above || below, " or "
	}
	if !fits {
		broken("value must be %s", strings.Join(texts, conjunction))
	}
}

// text checks an option of a text or bytes. It is true for other options.
func (a *annotations) text(name string, want, x protoreflect.Value, r protoreflect.Message) bool {
	text, isText := x.Interface().(string)
	size := uint64(utf8.RuneCountInString(text)) //nolint:gosec // a length
	if data, isBytes := x.Interface().([]byte); isBytes {
		text, size = string(data), uint64(len(data))
	} else if !isText {
		return true
	}
	part := func() string {
		if data, isBytes := want.Interface().([]byte); isBytes {
			return string(data)
		}
		return want.String()
	}
	switch name {
	case "len":
		return size == want.Uint()
	case "min_len":
		return size >= want.Uint()
	case "max_len":
		return size <= want.Uint()
	case "len_bytes":
		return uint64(len(text)) == want.Uint()
	case "min_bytes":
		return uint64(len(text)) >= want.Uint()
	case "max_bytes":
		return uint64(len(text)) <= want.Uint()
	case "prefix":
		return strings.HasPrefix(text, part())
	case "suffix":
		return strings.HasSuffix(text, part())
	case "contains":
		return strings.Contains(text, part())
	case "not_contains":
		return !strings.Contains(text, part())
	case "pattern":
		return a.matches(want.String(), text)
	case "well_known_regex":
		strict, given := get(r, "strict")
		return a.header(want.Enum(), !given || strict.Bool(), text)
	}
	return !isText || a.format(name, want, text)
}

// header checks a name (1) or value (2) of an HTTP header.
func (a *annotations) header(kind protoreflect.EnumNumber, strict bool, text string) bool {
	switch {
	case kind == 0:
		return true
	case !strict:
		return a.matches(headerPattern, text)
	case kind == 1:
		return a.matches(headerNamePattern, text)
	}
	return a.matches(headerValuePattern, text)
}

// format checks a format that an option asks for. It is true for other options.
func (a *annotations) format(name string, want protoreflect.Value, text string) bool {
	if on, isFlag := want.Interface().(bool); !isFlag || !on {
		return true
	}
	ip, ipErr := netip.ParseAddr(text)
	hostname := len(text) <= 253 && a.matches(hostnamePattern, text)
	switch name {
	case "email":
		_, err := mail.ParseAddress(text)
		return err == nil
	case "hostname":
		return hostname
	case "ip":
		return ipErr == nil
	case "ipv4":
		return ipErr == nil && ip.Is4()
	case "ipv6":
		return ipErr == nil && ip.Is6()
	case "address":
		return hostname || ipErr == nil
	case "uri":
		u, err := url.Parse(text)
		return err == nil && u.IsAbs()
	case "uri_ref":
		_, err := url.Parse(text)
		return err == nil
	case "uuid":
		return a.matches(uuidPattern, text)
	}
	return true
}

// compare compares two values of one type. Values that have no order are equal or not.
func compare(a, b protoreflect.Value) int {
	switch x := a.Interface().(type) {
	case int32, int64:
		return cmp.Compare(a.Int(), b.Int())
	case uint32, uint64:
		return cmp.Compare(a.Uint(), b.Uint())
	case float32, float64:
		return cmp.Compare(a.Float(), b.Float())
	case protoreflect.EnumNumber:
		return cmp.Compare(int64(x), b.Int())
	case protoreflect.Message:
		return times(x, b.Message())
	case []byte:
		return cmp.Compare(string(x), string(b.Bytes()))
	default:
		return strings.Compare(a.String(), b.String())
	}
}

// times compares two values of type Duration or Timestamp.
func times(a, b protoreflect.Message) int {
	seconds := func(m protoreflect.Message, name protoreflect.Name) int64 {
		return m.Get(m.Descriptor().Fields().ByName(name)).Int()
	}
	return cmp.Or(cmp.Compare(seconds(a, "seconds"), seconds(b, "seconds")), cmp.Compare(seconds(a, "nanos"), seconds(b, "nanos")))
}

func contains(list protoreflect.List, x protoreflect.Value) bool {
	for i := range list.Len() {
		if compare(x, list.Get(i)) == 0 {
			return true
		}
	}
	return false
}

// isZero reports whether a value is the same as an absent one.
func isZero(x protoreflect.Value) bool {
	switch v := x.Interface().(type) {
	case protoreflect.Message:
		return false
	case []byte:
		return len(v) == 0
	default:
		return v == "" || v == false || v == protoreflect.EnumNumber(0) || v == int32(0) || v == int64(0) ||
			v == uint32(0) || v == uint64(0) || v == float32(0) || v == 0.0
	}
}
