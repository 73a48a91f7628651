// Package envelope encodes the requests of the xDS transport protocol, and reads its responses in
// place.
//
// Nothing decodes a whole response: [ParseResponse] finds the few fields of the envelope, and
// [Response.Resources] walks the resources as names and bodies that alias the received bytes.
// A resource that did not change costs a comparison.
package envelope
