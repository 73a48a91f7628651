package transport

// An Error is why a stream could not be opened, or why it ended. Errors of one Kind are
// the same trouble for [errors.Is], however their texts differ: a server that is down for
// an hour has a hundred texts, with the port numbers of as many attempts in them.
type Error struct {
	// Kind is the nature of the trouble: the name of a gRPC status code, or another name
	// of the transport's.
	Kind string
	// Text is for people.
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

// Is reports whether target is an Error of the same kind.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other.Kind == e.Kind
}
