package transport

import "errors"

// An Error is the reason why a stream could not be opened, or why it ended. Errors of one Kind are
// equal for [errors.Is], even if their texts differ: attempts to reach an unreachable server have
// many texts, with different port numbers.
type Error struct {
	// Kind classifies the error: the name of a gRPC status code, or another name that the
	// transport defines.
	Kind string
	// Text describes the error for people. The framework does not interpret it.
	Text string
	// Cause is in the error chain, and may be nil. It must not be a gRPC status (gRFC A54).
	Cause error
}

// Error returns the cause, or else the kind, and the text.
func (e *Error) Error() string {
	if e.Cause != nil {
		return e.Cause.Error() + ": " + e.Text
	}
	return e.Kind + ": " + e.Text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Is reports whether target is an Error of the same kind, or wraps one. The framework wraps errors
// to make their text printable.
func (e *Error) Is(target error) bool {
	other, ok := errors.AsType[*Error](target)
	return ok && other.Kind == e.Kind
}
