// Package model is what a descriptor means: its paths resolved against protobuf
// messages, its structs, enums and oneofs given the messages they are made of,
// its rules sorted by the message that they look at.
//
// [Build] makes a [Package] of a parsed descriptor. Whatever does not fit is a
// diagnostic, and all of them are reported. A package is complete: who emits
// code from it resolves nothing and decides nothing about the language.
//
// # Wire facts
//
// Every step of a path is a protogen field, and so carries its field number and
// wire type: a decoder that walks encoded bytes needs no other model than the
// one that unmarshals messages.
//
// # Order
//
// Everything is in the order of the descriptor, and so is what is emitted. In
// particular the order of violations is defined: first the rules, then the
// fields in their order, then the rules about Go fields, then the check hooks, then
// the finish hooks.
// The rules of one message come before those of the messages in its repeated
// fields; of these, the fields come in the order in which rules first mention
// them, and the elements in theirs.
package model
