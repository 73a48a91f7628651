package xdstp

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	scheme = "xdstp:"
	prefix = scheme + "//"
)

// maxLength is the limit of a name's length in bytes, both as given (with its directives) and in
// canonical form. Longer names of either style are errors. It is slightly more than the 8000 octets
// that RFC 9110 section 4.1 recommends everybody to support in a URI, so no name that works
// elsewhere is rejected. It bounds the cost of one name from a control plane.
const maxLength = 8192

// Parse parses a name of either style. A string that starts with "xdstp:" is a new-style name.
// Parse returns it in canonical form, and checks and drops its directives. Any other string is an
// old-style name. The error is an [*Error].
func Parse(s string) (Name, error) {
	l, err := ParseLocator(s)
	return l.Name, err
}

// Opaque returns an old-style name with the whole of s, even if s starts with "xdstp:". gRFC A47
// requires this for all names if federation is switched off. The error is an [*Error]: s is empty,
// not UTF-8 (as protobuf strings must be) or longer than 8192 bytes.
func Opaque(s string) (Name, error) {
	if err := checkText(s); err != nil {
		return Name{}, err
	}
	return Name{s: s}, nil
}

func checkText(s string) error {
	switch {
	case s == "":
		return failure("name", s, "must not be empty")
	case len(s) > maxLength:
		return failure("name", s, "must not be longer than "+strconv.Itoa(maxLength)+" bytes")
	case !utf8.ValidString(s):
		return failure("name", s, ruleUTF8)
	}
	return nil
}

// parseURN parses an xdstp URI without a fragment.
func parseURN(s string) (Name, error) {
	rest, ok := strings.CutPrefix(s, prefix)
	if !ok {
		return Name{}, failure("name", s, "must start with "+prefix+" and an authority, which may be empty")
	}
	rest, rawQuery, _ := strings.Cut(rest, "?")
	rawAuthority, path, _ := strings.Cut(rest, "/")
	rawType, rawID, _ := strings.Cut(path, "/")
	if rawType == "" {
		return Name{}, failure("type", s, "must not be empty: write "+prefix+"authority/type/id")
	}
	authority, rule := canonical(rawAuthority, inAuthority)
	if rule != "" {
		return Name{}, failure("authority", rawAuthority, rule)
	}
	typ, rule := canonical(rawType, inPath)
	if rule != "" {
		return Name{}, failure("type", rawType, rule)
	}
	id, rule := canonical(rawID, inPath)
	if rule != "" {
		return Name{}, failure("id", rawID, rule)
	}
	query, err := canonicalParams(rawQuery)
	if err != nil {
		return Name{}, err
	}
	same := authority == rawAuthority && typ == rawType && id == rawID && query == rawQuery
	return assemble(s, same, authority, typ, id, query)
}

// assemble returns a name of canonical parts. It keeps s if s consists of exactly these parts and
// their separators.
func assemble(s string, same bool, authority, typ, id, query string) (Name, error) {
	authorityEnd := len(prefix) + len(authority)
	typeEnd := authorityEnd + len("/") + len(typ)
	pathEnd, length := typeEnd, typeEnd
	if id != "" {
		pathEnd += len("/") + len(id)
		length = pathEnd
	}
	if query != "" {
		length += len("?") + len(query)
	}
	if length > maxLength {
		return Name{}, failure("name", s, "must not be longer than "+strconv.Itoa(maxLength)+" bytes in canonical form")
	}
	if !same || length != len(s) {
		var out strings.Builder
		out.Grow(length)
		out.WriteString(prefix + authority + "/" + typ)
		if id != "" {
			out.WriteString("/" + id)
		}
		if query != "" {
			out.WriteString("?" + query)
		}
		s = out.String()
	}
	//nolint:gosec // none is greater than maxLength
	return Name{s: s, authorityEnd: uint16(authorityEnd), typeEnd: uint16(typeEnd), pathEnd: uint16(pathEnd)}, nil
}
