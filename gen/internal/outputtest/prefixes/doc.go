// Package prefixes is a golden case of the generator: rules about how texts start.
package prefixes

//go:generate go tool xdsgen resource.yaml
