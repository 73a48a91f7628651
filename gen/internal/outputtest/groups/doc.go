// Package groups is a golden case of the generator: rules about several elements.
package groups

//go:generate go tool xdsgen resource.yaml
