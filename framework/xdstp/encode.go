package xdstp

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// component is a set of the parts of an xdstp URI that differ in which
// characters may stand literally in them.
type component uint8

const (
	inAuthority component = 1 << iota
	inPath                // the type and the id
	inParam               // the key and the value of a parameter
	everywhere  = inAuthority | inPath | inParam
)

// literalIn returns the components in which c may stand unescaped. They all
// share RFC 3986's unreserved characters, ':', '@' and the sub-delims; '/' in a
// path is the separator of its segments.
func literalIn(c byte) component {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return everywhere
	}
	switch c {
	case '-', '.', '_', '~', ':', '@', '!', '$', '\'', '(', ')', '*', '+', ',', ';':
		return everywhere
	case '&', '=':
		return inAuthority | inPath
	case '/':
		return inPath | inParam
	case '?':
		return inParam
	case '[', ']':
		return inAuthority
	}
	return 0
}

// EncodePath percent-encodes every octet of s that may not stand in the path of
// a URI (RFC 3986 section 3.3). '/' is kept, as gRFC A47 asks for the names that
// are put into templates.
func EncodePath(s string) string { return encode(s, inPath) }

// EncodeAuthority percent-encodes every octet of s that the authority of a URI may not contain (RFC
// 3986 section 3.2). gRFC A47 requires this for the default listener template of an authority.
func EncodeAuthority(s string) string { return encode(s, inAuthority) }

// Expand replaces every "%s" in template by value, percent-encoded as
// [EncodePath] does if and only if the template starts with "xdstp:" (gRFC A47).
// The encoding is that of a path wherever in the template "%s" stands. The
// result is not yet a name: see [Parse].
func Expand(template, value string) string {
	if strings.HasPrefix(template, scheme) {
		value = EncodePath(value)
	}
	return strings.ReplaceAll(template, "%s", value)
}

func encode(s string, in component) string {
	for i := range len(s) {
		if literalIn(s[i])&in == 0 {
			out := append(make([]byte, 0, len(s)+16), s[:i]...)
			for ; i < len(s); i++ {
				if literalIn(s[i])&in != 0 {
					out = append(out, s[i])
				} else {
					out = appendEscape(out, s[i])
				}
			}
			return string(out)
		}
	}
	return s
}

// canonical returns raw with every character decoded once, and escaped again if it may not stand
// literally in that component. The result is raw itself if nothing changes. The second result is
// the rule that raw breaks, or "".
func canonical(raw string, in component) (string, string) {
	var out []byte // nil while raw[:i] is canonical
	for i := 0; i < len(raw); {
		start := i
		if literalIn(raw[i])&in != 0 {
			for i++; i < len(raw) && literalIn(raw[i])&in != 0; i++ {
			}
			if out != nil {
				out = append(out, raw[start:i]...)
			}
			continue
		}
		r, size, rule := decodeRune(raw[i:])
		if rule != "" {
			return "", rule
		}
		i += size
		var buf [3 * utf8.UTFMax]byte
		piece := appendRune(buf[:0], r, in)
		if out == nil {
			if string(piece) == raw[start:i] {
				continue
			}
			out = append(make([]byte, 0, len(raw)+16), raw[:start]...)
		}
		out = append(out, piece...)
	}
	if out == nil {
		return raw, ""
	}
	return string(out), ""
}

// appendRune appends r in the canonical form of a component. In the input, r was escaped or should
// have been.
func appendRune(dst []byte, r rune, in component) []byte {
	var octets [utf8.UTFMax]byte
	for _, c := range octets[:utf8.EncodeRune(octets[:], r)] {
		separator := c == '/' && in == inPath // an escaped '/' does not separate
		if literalIn(c)&in != 0 && !separator {
			dst = append(dst, c)
		} else {
			dst = appendEscape(dst, c)
		}
	}
	return dst
}

func appendEscape(dst []byte, c byte) []byte {
	const hex = "0123456789ABCDEF"
	return append(dst, '%', hex[c>>4], hex[c&15])
}

// decodeRune returns the character that s, which is not empty, starts with,
// escaped or not, and the bytes of s that it takes; or the rule that s breaks.
func decodeRune(s string) (r rune, size int, rule string) {
	if s[0] != '%' {
		r, size = utf8.DecodeRuneInString(s)
		return r, size, checkRune(r, size)
	}
	var octets [utf8.UTFMax]byte
	n := 0
	for n < len(octets) && size < len(s) && s[size] == '%' {
		c, ok := unescape(s[size:])
		if !ok {
			return 0, 0, ruleEscape
		}
		octets[n] = c
		n++
		size += 3
		if utf8.FullRune(octets[:n]) {
			break
		}
	}
	r, width := utf8.DecodeRune(octets[:n])
	return r, size, checkRune(r, width)
}

func checkRune(r rune, width int) (rule string) {
	switch {
	case r == utf8.RuneError && width <= 1:
		return ruleUTF8
	case unicode.IsControl(r):
		return ruleControl
	}
	return ""
}

// decode undoes the escapes of s, which is canonical.
func decode(s string) string {
	i := strings.IndexByte(s, '%')
	if i < 0 {
		return s
	}
	out := append(make([]byte, 0, len(s)), s[:i]...)
	for i < len(s) {
		c, size := octet(s[i:])
		out = append(out, c)
		i += size
	}
	return string(out)
}

// octet returns the first decoded octet of s, which is canonical and not empty,
// and the bytes of s that it takes.
func octet(s string) (c byte, size int) {
	if c, ok := unescape(s); ok {
		return c, 3
	}
	return s[0], 1
}

func unescape(s string) (c byte, ok bool) {
	if len(s) < 3 || s[0] != '%' {
		return 0, false
	}
	high, ok1 := unhex(s[1])
	low, ok2 := unhex(s[2])
	return high<<4 | low, ok1 && ok2
}

func unhex(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	}
	return 0, false
}
