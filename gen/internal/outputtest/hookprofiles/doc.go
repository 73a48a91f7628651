// Package hookprofiles is a golden case of the generator: hooks for one profile.
package hookprofiles

//go:generate go tool xdsgen resource.yaml
