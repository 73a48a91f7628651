// Package definedenums is a golden case of the generator: rules about the numbers of enums.
package definedenums

//go:generate go tool xdsgen resource.yaml
