// Package convert is what generated decoders call: it makes Go values of
// protobuf's well-known types and of a few of Envoy's, and keeps the small sets
// that rules about several elements need. Hand-written hooks may call it too.
//
// A conversion that fails notes a violation at the path that it is given and
// returns the zero value. An absent message gives the zero value without one:
// whether something must be there is for a rule to say.
package convert
