// Package emit writes the Go code of a [model.Package], one file an artefact.
//
// # The generated code
//
// Straight-line code that people read: one function per struct, doc comments
// from the descriptor, and nothing that is not used. A function has the
// parameters that its body needs; which those are is found by writing all
// functions again until nothing changes.
//
// # Determinism
//
// Everything is written in the order of the model. Imports get their names from
// one sorted table, and the result is formatted as gofumpt does.
package emit
