package environment

// A Base makes the struct that embeds it lead to an Env. Package xdsforge embeds it under an
// unexported name, so that programs do not see it.
type Base struct{ env *Env }

// NewBase returns a Base of an Env.
func NewBase(e *Env) Base { return Base{e} }

func (b Base) core() *Env { return b.env }

// Of returns the Env that a struct with a Base leads to. It is nil for the zero Base.
func Of(holder interface{ core() *Env }) *Env { return holder.core() }
