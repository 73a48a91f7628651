package environment

// A Base connects the struct that embeds it to an Env. Package xdsforge embeds it under an
// unexported name, so that programs do not see it.
type Base struct{ env *Env }

// NewBase returns a Base of an Env.
func NewBase(e *Env) Base { return Base{e} }

func (b Base) core() *Env { return b.env }

// Of returns the Env of a struct with a Base. It is nil for the zero Base.
func Of(holder interface{ core() *Env }) *Env { return holder.core() }
