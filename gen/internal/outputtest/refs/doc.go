// Package refs is a golden case of the generator: names of other resources.
package refs

//go:generate go tool xdsgen resource.yaml
