package model

import (
	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
)

// A fault ends the construction of a part of the package, such as a field or a rule. It is the code of an error that was
// reported, or empty if several were.
type fault diag.Code

// try builds a part. It reports whether the part is complete. Every panic with a fault is in a call of try.
func try(build func()) (ok bool) {
	defer func() {
		if r := recover(); r != nil {
			if _, expected := r.(fault); !expected {
				panic(r)
			}
			ok = false
		}
	}()
	build()
	return true
}

// fault reports an error and returns its code.
func (b *builder) fault(at diag.Pos, code diag.Code, hint, format string, args ...any) fault {
	b.bag.AddHint(at, code, hint, format, args...)
	return fault(code)
}

// require reports an error unless ok, and ends the construction of the part.
func (b *builder) require(ok bool, at descriptor.Text, code diag.Code, format string, args ...any) {
	b.requireHint(ok, at, code, "", format, args...)
}

// requireHint is [builder.require] with a hint.
func (b *builder) requireHint(ok bool, at descriptor.Text, code diag.Code, hint, format string, args ...any) {
	if !ok {
		panic(b.fault(at.Pos, code, hint, format, args...))
	}
}

// each builds a part for each element of a list. It ends the construction of the whole if one is not complete.
func each[T any](list []T, build func(T)) {
	ok := true
	for _, x := range list {
		ok = try(func() { build(x) }) && ok
	}
	if !ok {
		panic(fault(""))
	}
}
