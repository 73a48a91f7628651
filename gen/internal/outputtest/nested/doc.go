// Package nested is a golden case of the generator: structs of messages.
package nested

//go:generate go tool xdsgen resource.yaml
