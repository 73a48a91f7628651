// Package descriptor reads the language in which a resource type is described.
//
// # The table
//
// [Language] is the language: every mapping of a descriptor with its keys, what
// kind of value each takes, and what it is for. The walker that reads a
// descriptor has no other knowledge of the keys, and what else describes the
// language is made of the same table: [Schema] for editors, and the reference.
// Rules that compare values, and conversions, are tables of their own:
// [ValueKinds] and [Conversions].
//
// # The tree
//
// [Parse] gives a [Descriptor]: Go values with the positions they were read
// from. It knows nothing of protobuf messages; what the paths and names mean is
// found out by package model. Faults are diagnostics, and all of them are
// reported.
package descriptor
