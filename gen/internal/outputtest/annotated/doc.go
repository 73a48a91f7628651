// Package annotated is a golden case of the generator: rules that messages fulfil their own annotations.
package annotated

//go:generate go tool xdsgen resource.yaml
