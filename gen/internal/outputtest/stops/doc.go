// Package stops is a golden case of the generator: fields that are read under a
// condition, and structs of which the rest is not read.
package stops

//go:generate go tool xdsgen resource.yaml
