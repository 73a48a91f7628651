// Package presence is a golden case of the generator: rules about presence.
package presence

//go:generate go tool xdsgen resource.yaml
