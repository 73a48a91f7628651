// Package inlined is a golden case of the generator: resources within resources.
package inlined

//go:generate go tool xdsgen resource.yaml
