// Package rare is a golden case of the generator: rare fields behind one pointer.
package rare

//go:generate go tool xdsgen resource.yaml
