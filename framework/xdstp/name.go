package xdstp

import (
	"iter"
	"strings"
)

// Name is the name of one xDS resource or glob collection, in canonical form.
//
// Names are small, immutable and comparable: two of them are == if and only if they name the same
// resource, so they work as map keys. The zero Name is not a name.
type Name struct {
	s string
	// The ends of the parts of an xdstp name in s. All are zero in an old-style name, so that it
	// never equals a new-style one with the same text.
	authorityEnd, typeEnd, pathEnd uint16
}

// String returns the canonical form, which goes on the wire and keys a cache. It has no directives.
// It is "" for the zero Name.
func (n Name) String() string { return n.s }

// MarshalText returns the canonical form, so that names are readable in JSON and
// in structured logs. It never fails.
func (n Name) MarshalText() ([]byte, error) { return []byte(n.s), nil }

// IsZero reports whether n is the zero Name, which names nothing.
func (n Name) IsZero() bool { return n.s == "" }

// IsXdstp reports whether n is a new-style name.
func (n Name) IsXdstp() bool { return n.typeEnd != 0 }

// Authority returns the authority, percent-decoded, or "" if it is empty. It is the key into the
// authorities of a bootstrap file (gRFC A47). For an old-style name the result is meaningless:
// check IsXdstp first.
func (n Name) Authority() string {
	if !n.IsXdstp() {
		return ""
	}
	return decode(n.s[len(prefix):n.authorityEnd])
}

// SameAuthority reports whether both names are old-style names, or names of one authority.
func (n Name) SameAuthority(other Name) bool {
	return n.IsXdstp() == other.IsXdstp() && n.s[:n.authorityEnd] == other.s[:other.authorityEnd]
}

// Type returns the resource type in the name, percent-decoded, for example
// "envoy.config.cluster.v3.Cluster". It is "" for an old-style name.
func (n Name) Type() string {
	if !n.IsXdstp() {
		return ""
	}
	return decode(n.s[n.authorityEnd+1 : n.typeEnd])
}

// ID returns the part of the path after the type, or "" if there is none. It is canonical and still
// percent-encoded, because an escaped '/' differs from a literal one. For an old-style name it is
// the whole name.
func (n Name) ID() string {
	switch {
	case !n.IsXdstp():
		return n.s
	case n.pathEnd == n.typeEnd:
		return ""
	}
	return n.s[n.typeEnd+1 : n.pathEnd]
}

// Params yields the context parameters, percent-decoded, sorted by key, each key
// once. An old-style name has none.
func (n Name) Params() iter.Seq2[string, string] {
	return func(yield func(key, value string) bool) {
		for rest := n.query(); rest != ""; {
			var piece string
			piece, rest, _ = strings.Cut(rest, "&")
			key, value, _ := strings.Cut(piece, "=")
			if !yield(decode(key), decode(value)) {
				return
			}
		}
	}
}

// query returns the parameters in the name, without the '?'.
func (n Name) query() string {
	if !n.IsXdstp() || int(n.pathEnd) == len(n.s) {
		return ""
	}
	return n.s[n.pathEnd+1:]
}

// CheckType reports whether n can name a resource of the protobuf message with this full name, such
// as "envoy.config.cluster.v3.Cluster". The type in a new-style name (or glob) must be that message
// (TP1), and there must be an id. An old-style name has no type and fits every message. The error
// is an [*Error].
func (n Name) CheckType(message string) error {
	switch {
	case n.IsZero():
		return failure("name", "", "must not be empty")
	case !n.IsXdstp():
		return nil
	case n.Type() != message:
		return failure("type", n.Type(), "must be "+message+", the requested type")
	case n.ID() == "":
		return failure("id", "", "must not be empty: "+shorten(n.s)+" names no resource")
	}
	return nil
}

// IsCollection reports whether n names a list collection: a resource whose type is named
// <T>Collection, by TP1's convention. It contains or lists resources of type T.
func (n Name) IsCollection() bool {
	element, ok := strings.CutSuffix(n.Type(), "Collection")
	return ok && element != "" && !strings.HasSuffix(element, ".")
}

// IsGlob reports whether n names a glob collection (TP1): its id is "*" or ends
// in "/*".
func (n Name) IsGlob() bool {
	return n.pathEnd > n.typeEnd && strings.HasSuffix(n.s[:n.pathEnd], "/*")
}

// Contains reports whether member belongs to the glob collection n.
//
// Authority, type and context parameters must be the same. The id of member must be that of n with
// one segment in place of the '*'. Globs do not match deeper: TP1 speaks of resources that share a
// directory to which "/*" is appended. Envoy (which finds the glob of a resource by cutting its id
// after the last '/') and diderot behave in the same way. So ".../foo/*" contains ".../foo/bar" but
// not ".../foo/bar/baz". An encoded '/' is part of a segment.
//
// A glob is not a member of a glob, and an old-style name is not a member of any collection.
func (n Name) Contains(member Name) bool {
	if !n.IsGlob() || !member.IsXdstp() || member.IsGlob() || n.query() != member.query() {
		return false
	}
	directory := n.s[:n.pathEnd-1] // with the authority and type, up to the last '/'
	segment, ok := strings.CutPrefix(member.s[:member.pathEnd], directory)
	return ok && !strings.Contains(segment, "/")
}

// Glob returns the glob collection that contains n by [Name.Contains]. Old-style names and globs
// are not members of one.
func (n Name) Glob() (glob Name, ok bool) {
	if !n.IsXdstp() || n.IsGlob() || n.ID() == "" {
		return Name{}, false
	}
	path := n.s[:n.pathEnd]
	g := path[:strings.LastIndexByte(path, '/')+1] + "*"
	n.s, n.pathEnd = g+n.s[n.pathEnd:], uint16(len(g)) //nolint:gosec // within maxLength, and one
	return n, true
}
