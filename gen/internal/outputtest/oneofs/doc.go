// Package oneofs is a golden case of the generator: closed interfaces.
package oneofs

//go:generate go tool xdsgen resource.yaml
