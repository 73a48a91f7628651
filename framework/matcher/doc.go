// Package matcher converts Envoy's matchers to Go values: matchers of text ([String], gRFC A63), of
// headers ([Header], gRFC A28) and of addresses ([NewPrefix], gRFC A36). A decoder creates them
// once for each resource. Matching does not allocate.
//
// The error of an invalid matcher is a [*resource.ValidationError] with paths below the matcher's
// message. Regular expressions are RE2 and must match the whole text.
package matcher
