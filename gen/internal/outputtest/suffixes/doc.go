// Package suffixes is a golden case of the generator: rules about how texts end.
package suffixes

//go:generate go tool xdsgen resource.yaml
