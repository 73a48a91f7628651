// Package sides is a golden case of the generator: structs of one side, messages in
// an Any that may be others in one profile, and hooks that need fields.
package sides

//go:generate go tool xdsgen resource.yaml
