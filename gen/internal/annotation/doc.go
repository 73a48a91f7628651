// Package annotation derives rules of a descriptor from the options of protoc-gen-validate
// (validate.rules) and protovalidate (buf.validate.field) in proto files.
//
// It reads the options by their extension numbers, with the message descriptors of the
// message's own dependencies. It needs neither runtime. A constraint that the rule language
// cannot express becomes a comment.
package annotation
