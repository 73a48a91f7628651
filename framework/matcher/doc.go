// Package matcher makes Go values of Envoy's matchers: of text ([String], gRFC
// A63), of headers ([Header], gRFC A28) and of addresses ([NewPrefix], gRFC A36). They
// are made once, when a resource is decoded, and match without allocating.
//
// What is wrong with a matcher is a [*resource.ValidationError] with paths below
// the matcher's message. Regular expressions are RE2, and must match everything.
package matcher
