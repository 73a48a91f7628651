// Package values is a golden case of the generator: rules about values.
package values

//go:generate go tool xdsgen resource.yaml
