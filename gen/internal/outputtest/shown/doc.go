// Package shown is a golden case of the generator: fields that programs do not read, and values
// that people do not see.
package shown

//go:generate go tool xdsgen resource.yaml
