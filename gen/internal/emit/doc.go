// Package emit writes the Go code of a [model.Package], one file an artefact.
//
// # The generated code
//
// The code is straight-line: one function per struct, doc comments from the descriptor, and
// nothing unused but parameters. All functions that decode have the same parameters, and so have all
// that check rules: [Files] writes each function once, and no function depends on the body of
// another. The uses in the model give the fields that the views of a wire decoder have.
//
// Code is written as Go source with places for other code, see Src. Package jennifer names
// the imports. Code that is almost the same for all packages is in templates, and so are the
// texts of [Explain] and [Page].
//
// # Determinism
//
// Everything is written in the order of the model. Imports get their names from
// one sorted table, and the result is formatted as gofumpt does.
package emit
