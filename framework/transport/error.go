package transport

import "errors"

// An Error is the reason why a stream could not be opened, or why it ended. Errors of one
// Kind are equal for [errors.Is], even if their texts differ: the attempts to reach a server
// that is down have a hundred texts with different port numbers.
type Error struct {
	// Kind classifies the error: the name of a gRPC status code, or another name that the
	// transport defines.
	Kind string
	// Text describes the error for people; nothing interprets it.
	Text string
	// Cause is in the chain, and may be nil. It must not be a gRPC status (gRFC A54).
	Cause error
}

// Error prints the cause, or else the kind, and the text.
func (e *Error) Error() string {
	if e.Cause != nil {
		return e.Cause.Error() + ": " + e.Text
	}
	return e.Kind + ": " + e.Text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Is reports whether target is an Error of the same kind, or wraps one: the text of an error
// may have been made printable.
func (e *Error) Is(target error) bool {
	other, ok := errors.AsType[*Error](target)
	return ok && other.Kind == e.Kind
}
