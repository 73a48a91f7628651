// Package convert has the conversions that generated decoders call. It converts protobuf's
// well-known types and a few of Envoy's to Go values, and has the small sets for rules about
// several elements. Hand-written hooks may call it too.
//
// A failed conversion records a violation at the given path and returns the zero value. An absent
// message gives the zero value without a violation: rules decide whether a field is required.
package convert
