// Package hooks is a golden case of the generator: hand-written functions.
package hooks

//go:generate go tool xdsgen resource.yaml
