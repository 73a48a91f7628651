// Package printable makes text from control planes fit for logs and errors: the message
// of a gRPC status, the name of a resource, a value that breaks a rule.
//
//	logger.Warn("stream ended", "error", printable.Error(err))
//
// A control plane chooses that text. Without care, a line break in it forges a line in a
// log, an escape sequence changes the reader's terminal, invalid UTF-8 breaks a collector,
// and ten megabytes of it fill a disk. [Text] escapes all of these and clips the rest. It
// does not change printable text or its own results, so callers may apply it wherever text
// enters or leaves.
package printable
