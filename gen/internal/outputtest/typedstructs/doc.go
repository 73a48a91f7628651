// Package typedstructs is a golden case of the generator: messages that a TypedStruct stands for.
package typedstructs

//go:generate go tool xdsgen resource.yaml
