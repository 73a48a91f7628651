// Command conformance compares this framework with the verdicts of other xDS
// clients.
//
//	go run ./internal/conformance -corpus DIR
//
// # The corpus
//
// A corpus is a folder of files with one JSON object per line: an input and the verdict
// of another implementation. It is not part of this repository. Without a corpus, the
// command prints a notice and succeeds.
//
// # Disagreements
//
// If a peer and this framework differ, the newest specification decides. The table in
// docs/conformance.md quotes the deciding sentence, by the id of the row. The command
// fails if a row outside the table disagrees, or if a row of the table agrees. It prints
// the row. Rows about features that this framework does not have are counted as not
// asked for, with the reason.
//
// # Mutations
//
//	go run ./internal/conformance -corpus DIR -mutations 10000
//
// decodes the given number of mutations of each valid resource of the corpus. They may be
// invalid. Decoding must neither panic nor hang.
//
// # Adding a file
//
// A file of the corpus is one more entry in runners: its name, and a function that
// judges one row.
package main
