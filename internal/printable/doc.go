// Package printable makes text from control planes fit for logs and errors: the message
// of a gRPC status, the name of a resource, a value that breaks a rule.
//
//	logger.Warn("stream ended", "error", printable.Error(err))
//
// A control plane chooses that text, and it could attack the reader. A line break forges a line in
// a log. An escape sequence changes the terminal. Invalid UTF-8 breaks a collector, and ten
// megabytes of text fill a disk. [Text] escapes all of these and clips the rest. It does not change
// printable text or its own results, so callers may apply it wherever text enters or leaves.
package printable
