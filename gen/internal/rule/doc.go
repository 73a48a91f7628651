// Package rule has the kinds of rules of descriptors, one file for each. A file has the keys
// of the kind, an example, the arguments, the code that checks the rule, and the wording of
// violations. Kinds that are alike share a type: see presence in required.go and alternatives in
// in.go. To add a kind, add a file with a method of [kinds], and a folder in outputtest with a
// descriptor that uses it.
//
// The tests of this package check each example. The reference and the JSON Schema of the
// language show the kinds too; UPDATE=1 go test ./gen/internal/descriptor writes them.
package rule
