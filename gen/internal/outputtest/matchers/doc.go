// Package matchers is a golden case of the generator: conversions that take parts of
// a view.
package matchers

//go:generate go tool xdsgen resource.yaml
