// Package opaquepb has a message with protobuf's opaque API, for the tests of
// the generator.
package opaquepb
