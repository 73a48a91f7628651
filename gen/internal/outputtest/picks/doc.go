// Package picks is a golden case of the generator: one element of many.
package picks

//go:generate go tool xdsgen resource.yaml
