// Package annotations is a golden case of the generator: rules of annotations.
package annotations

//go:generate go tool xdsgen resource.yaml
