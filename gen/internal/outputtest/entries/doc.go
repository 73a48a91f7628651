// Package entries is a golden case of the generator: rules about the keys and values of maps.
package entries

//go:generate go tool xdsgen resource.yaml
