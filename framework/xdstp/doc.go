// Package xdstp parses, normalizes and builds the names of xDS resources. It
// does no I/O and depends on nothing but the standard library.
//
// # Two styles of names
//
// A string that starts with "xdstp:" is a new-style name, as defined by xRFC
// TP1 and used by gRFC A47:
//
//	xdstp://[{authority}]/{resource type}/{id/*}?{context parameters}{#directive,*}
//
// The comparison is literal, as A47 words it: "XDSTP://a/b/c" is not a
// new-style name. Every other string is an old-style name and opaque: it means
// itself. The two styles never compare equal, and the empty authority of
// "xdstp:///type/id" is an authority like any other, apart from old-style names.
//
// # The canonical form
//
// A [Name] holds one canonical string, which goes on the wire and keys caches.
// TP1 takes two names for the same when they match component by component,
// whatever the order of the context parameters. So each component is
// percent-decoded and encoded again exactly once:
//
//   - A character stays literal where RFC 3986 lets it stand in that component,
//     and is percent-encoded with upper-case digits where it does not. ':' and
//     '@' are path characters (section 3.3) and stay literal; "%3A" becomes ':'.
//   - '/' separates path segments, so an encoded one stays encoded: "x%2Fy" and
//     "x/y" are different ids. In a parameter neither '&' nor '=' is ever literal,
//     so "a=b%26c" stays one parameter. '+' is a plus sign, not a space.
//   - Parameters are sorted by their decoded key; of duplicate keys the last one
//     wins (A47). A key without '=' has the empty value. Empty parameters and an
//     empty query disappear.
//   - The '/' before an empty id disappears: "xdstp://a/t/" is "xdstp://a/t".
//   - Nothing else changes: authorities are opaque to TP1, so their case is kept,
//     and so are dot segments and empty segments of an id.
//
// Normalizing twice is normalizing once. A name that is already canonical is
// parsed without an allocation and shares memory with its input.
//
// Parse is lenient where the meaning is certain (a literal space or '[' in an
// id is encoded) and strict where it is not: an escape that is no escape, a
// missing "//" or type, control characters and invalid UTF-8 (also as escapes),
// unknown directives, and more than [MaxLength] bytes are errors.
//
// # Names and locators
//
// The fragment of an xdstp URI holds directives: where else to look ("alt"), or
// which inlined entry of a list collection is meant ("entry"). They tell a
// client how to find a resource and are no part of its name. [Parse] checks and
// drops them; [ParseLocator] returns them.
//
// A name can lack an id: TP1's grammar allows it and Envoy accepts it. Such a
// name can be held and routed by authority, but names no resource:
// [Name.CheckType] rejects it. Context parameters in TP1's reserved "xds."
// namespace are accepted, because names that were computed from a URL and from
// resource attributes contain them.
//
// # Collections
//
// [Name.IsCollection] tells list collections, [Name.IsGlob] glob collections;
// [Name.Contains] says which names belong to a glob.
package xdstp
