// Package profiles is a golden case of the generator: what depends on how strictly
// the program reads resources.
package profiles

//go:generate go tool xdsgen resource.yaml
