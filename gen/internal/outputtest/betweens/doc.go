// Package betweens is a golden case of the generator: rules about values between two others.
package betweens

//go:generate go tool xdsgen resource.yaml
