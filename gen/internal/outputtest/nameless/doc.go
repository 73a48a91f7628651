// Package nameless is a golden case of the generator: a message that the wrapper names.
package nameless

//go:generate go tool xdsgen resource.yaml
