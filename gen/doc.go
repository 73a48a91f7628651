// Package gen generates the Go code of a resource type from its descriptor.
//
// [Generate] reads descriptors and returns files; it writes nothing. What it
// returns depends on the descriptors and on what the Go toolchain says of the
// module that they live in, and on nothing else: not on the time, the version
// of the tool, or the files that were generated before.
//
// [Explain] says of descriptors what Generate would make of them, [Scaffold] makes
// the files that a package starts with, and [Reference] prints the language.
//
// The way of a descriptor: package descriptor reads YAML into a tree with
// positions, package protoindex finds the messages, package model resolves the
// one against the other, and package emit writes the code. Faults of the
// descriptor are diagnostics of package diag at every step.
//
// These packages import nothing of the framework, so that they build even where
// the code that they generate does not.
package gen
