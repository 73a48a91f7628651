// Package characters is a golden case of the generator: rules about the number of characters.
package characters

//go:generate go tool xdsgen resource.yaml
