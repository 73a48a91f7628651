// Command conformance compares this framework with the verdicts of other xDS
// clients.
//
//	go run ./internal/conformance -corpus DIR
//
// # The corpus
//
// A corpus is a folder of files with one JSON object a line: an input and what
// another implementation says of it. It is not part of this repository. If there is
// none, the command says so and succeeds.
//
// # Disagreements
//
// Where a peer and this framework differ, the newest specification decides, and the
// table in docs/conformance.md quotes the sentence, by the id of the row.
// The command fails if a row disagrees that is not in the table, or if one agrees
// that is; it says which. Rows about what this framework does not do are counted as
// not asked for, with the reason.
//
// # Mutations
//
//	go run ./internal/conformance -corpus DIR -mutations 10000
//
// decodes so many mutations of each valid resource of the corpus. They may be wrong,
// and must neither panic nor hang.
//
// # Adding a file
//
// A file of the corpus is one more entry in runners: its name, and a function that
// judges one row.
package main
