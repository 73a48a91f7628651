// Package gofields is a golden case of the generator: rules about Go fields.
package gofields

//go:generate go tool xdsgen resource.yaml
