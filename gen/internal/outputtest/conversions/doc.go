// Package conversions is a golden case of the generator: the table of as.
package conversions

//go:generate go tool xdsgen resource.yaml
