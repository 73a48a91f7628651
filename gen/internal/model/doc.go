// Package model resolves the meaning of a descriptor. It resolves paths against protobuf
// messages, assigns messages to structs, enums and oneofs, and sorts rules by message.
//
// [Build] builds a [Package] from a parsed descriptor. It reports every error as a
// diagnostic. A package is complete: the code that emits from it resolves nothing and makes
// no decision about the language.
//
// # Wire facts
//
// Every step of a path is a protogen field with its field number and wire type. Decoders of
// encoded bytes and decoders of messages therefore use the same model.
//
// # Order
//
// All lists are in the order of the descriptor, and so is the generated code. The order of
// violations is defined: first the rules, then the fields in their order, then the rules
// about Go fields, then the check hooks, then the finish hooks. The rules of one message
// come before those of the messages in its repeated fields. The repeated fields come in the
// order in which rules first mention them, and their elements in list order.
package model
