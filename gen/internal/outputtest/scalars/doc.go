// Package scalars is a golden case of the generator: fields of plain types.
package scalars

//go:generate go tool xdsgen resource.yaml
