// Package excluded is a golden case of the generator: rules about texts that others must not contain.
package excluded

//go:generate go tool xdsgen resource.yaml
