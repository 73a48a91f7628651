// Package collections is a golden case of the generator: a type with collections of every kind.
package collections

//go:generate go tool xdsgen resource.yaml
