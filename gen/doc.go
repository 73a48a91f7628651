// Package gen generates the Go code of a resource type from its descriptor.
//
// [Generate] reads descriptors and returns files. It writes nothing. The files depend only
// on the descriptors and on the Go toolchain's view of their module. They do not depend on
// the time, the version of the tool, or previously generated files.
//
// [Input.Explain] describes the code that Generate would return. [Scaffold] returns the first
// files of a new package. [Schema] describes the descriptor language.
//
// A descriptor passes through four packages. Package descriptor parses YAML into a tree
// with positions. Package protoindex finds the messages. Package model resolves the tree
// against the messages. Package emit writes the code. Each of them reports errors in the
// descriptor as diagnostics of package diag.
//
// Package rule has the kinds of rules, one file each, with the keys for package descriptor,
// the arguments for package model and the code for package emit. Package annotation derives
// rules from the annotations of proto files.
//
// These packages do not import the framework, so they build even if the generated code does
// not.
package gen
