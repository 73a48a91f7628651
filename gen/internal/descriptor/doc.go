// Package descriptor parses the language that describes a resource type.
//
// # The table
//
// [Language] is the table of the language: every mapping of a descriptor with its keys,
// the kinds of their values, and their meaning. The walker that reads a descriptor knows
// the keys only from this table. [Schema] for editors and the reference are built from
// the same table. Rules that compare values and conversions have tables of their own,
// [ValueKinds] and [Conversions].
//
// # The tree
//
// [Parse] returns a [Descriptor], a tree of Go values with their positions in the file.
// It knows nothing of protobuf messages; package model resolves paths and names. Errors
// are diagnostics, and all of them are reported.
package descriptor
