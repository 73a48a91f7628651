// Package wellknown is a golden case of the generator: well-known types.
package wellknown

//go:generate go tool xdsgen resource.yaml
