// Package opaque is a golden case of the generator: a message with the opaque
// API, of which only the methods are reached.
package opaque

//go:generate go tool xdsgen resource.yaml
