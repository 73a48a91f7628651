// Package patterns is a golden case of the generator: rules about texts and regular expressions.
package patterns

//go:generate go tool xdsgen resource.yaml
