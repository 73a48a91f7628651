// Package maps is a golden case of the generator: maps, and values in the form of JSON.
package maps

//go:generate go tool xdsgen resource.yaml
