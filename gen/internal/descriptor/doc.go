// Package descriptor parses the language that describes a resource type.
//
// # The language
//
// A [Language] lists every mapping of a descriptor with its keys, the kinds of their values,
// and their meaning. It is made of the tags of the tree. [Language.Schema] for editors and the
// reference are built from it. Package rule adds the keys of the kinds of rules. [Conversions]
// lists the values of `as`.
//
// # The tree
//
// [Language.Parse] returns a [Descriptor], a tree of Go values with their positions in the file.
// It knows nothing of protobuf messages; package model resolves paths and names. Errors
// are diagnostics, and all of them are reported.
package descriptor
