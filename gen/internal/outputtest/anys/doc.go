// Package anys is a golden case of the generator: messages in an Any.
package anys

//go:generate go tool xdsgen resource.yaml
