// Package protoindex knows protobuf messages: their fields, field numbers and
// wire types, and the names that protoc-gen-go gives them in Go.
//
// # Where the facts come from
//
// Nothing is linked into the generator. The Go toolchain says where a message's
// Go package and its dependencies stand (`go list -deps`), and the descriptor
// that protoc-gen-go wrote into each .pb.go is read from the source text. That
// works offline, for packages that do not compile, and for Envoy's messages in
// the same way as for anybody's. A file descriptor set, as protoc writes it, takes
// the place of all that where one is given.
//
// # Names in Go
//
// The descriptors are handed to google.golang.org/protobuf/compiler/protogen,
// the library that protoc-gen-go is built on, so that names, getters and the
// resolution of conflicts are its own.
package protoindex
