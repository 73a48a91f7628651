// Package compared is a golden case of the generator: rules that compare two fields.
package compared

//go:generate go tool xdsgen resource.yaml
