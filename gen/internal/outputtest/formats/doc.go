// Package formats is a golden case of the generator: rules about the forms of texts.
package formats

//go:generate go tool xdsgen resource.yaml
