// Package envelope encodes the requests of the xDS transport protocol, and reads its responses in
// place.
//
// It never decodes a whole response. [ParseResponse] reads the few fields of the envelope.
// [Response.Resources] yields the resources as names and bodies that alias the received bytes. An
// unchanged resource costs a comparison.
package envelope
