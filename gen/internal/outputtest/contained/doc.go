// Package contained is a golden case of the generator: rules about the content of texts.
package contained

//go:generate go tool xdsgen resource.yaml
