// Package profiles is a golden case of the generator: rules that depend on the
// profile.
package profiles

//go:generate go tool xdsgen resource.yaml
