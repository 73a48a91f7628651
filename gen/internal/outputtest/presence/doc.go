// Package presence is a golden case of the generator: rules about what is there.
package presence

//go:generate go tool xdsgen resource.yaml
