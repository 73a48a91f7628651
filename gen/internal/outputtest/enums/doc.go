// Package enums is a golden case of the generator: enums as Go constants.
package enums

//go:generate go tool xdsgen resource.yaml
