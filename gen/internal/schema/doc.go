// Package schema describes the resources of a type as a JSON Schema.
//
// [Of] returns the schema of the message in the JSON form of protobuf, with the names of the proto
// file. Each message is a definition with its fields and their comments. The rules and defaults of
// the descriptor are further schemas of the whole resource, because they apply to paths.
//
// A schema never rejects a resource that the decoder accepts, except for spellings that protobuf
// also accepts: null for an absent value, other names and quoted numbers. It does not have the rules
// that JSON Schema cannot express, for example about hooks, sums and the names of resources. Package
// rule has the schema of each kind of rule.
package schema
