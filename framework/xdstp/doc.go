// Package xdstp parses, normalizes and builds the names of xDS resources. It does no I/O and
// depends only on the standard library.
//
// # Two styles of names
//
// A string that starts with "xdstp:" is a new-style name, as defined by xRFC TP1 and used by gRFC
// A47:
//
//	xdstp://[{authority}]/{resource type}/{id/*}?{context parameters}{#directive,*}
//
// The comparison is literal, as in A47: "XDSTP://a/b/c" is not a new-style name. Every other string
// is an old-style name, and it is opaque. The two styles never compare equal. The empty authority
// of "xdstp:///type/id" is an authority like any other, and distinct from old-style names.
//
// # The canonical form
//
// A [Name] holds one canonical string, which goes on the wire and keys caches. By TP1, two names
// are the same if they match component by component, in any order of the context parameters.
// Therefore each component is percent-decoded and encoded again exactly once:
//
//   - A character stays literal where RFC 3986 allows it in that component,
//     and is percent-encoded with upper-case digits elsewhere. ':' and
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
// Normalization is idempotent. Parsing a canonical name does not allocate, and the result shares
// memory with the input.
//
// Parse is lenient if the meaning is certain: it encodes a literal space or '[' in an id. Otherwise
// it is strict. It rejects malformed escapes, a missing "//" or type, control characters and
// invalid UTF-8 (also as escapes), unknown directives, and more than 8192 bytes.
//
// # Names and locators
//
// The fragment of an xdstp URI holds directives: an alternative location ("alt"), or an inlined
// entry of a list collection ("entry"). They tell a client how to find a resource and are not part
// of its name. [Parse] checks and drops them. [ParseLocator] returns them.
//
// A name may lack an id: TP1's grammar allows it and Envoy accepts it. Such a name can be held and
// routed by authority, but does not name a resource: [Name.CheckType] rejects it. Context
// parameters in TP1's reserved "xds." namespace are accepted, because names that were computed from
// a URL and from resource attributes contain them.
//
// # Collections
//
// [Name.IsCollection] detects list collections, [Name.IsGlob] glob collections. [Name.Contains]
// reports whether a name belongs to a glob.
package xdstp
