package printable

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The limits that this module uses, in bytes.
const (
	// Short is the limit of a token: a nonce, a type URL, a name in a log line.
	Short = 256
	// Quoted is the limit of text that an error quotes.
	Quoted = 1 << 10
	// Whole is the limit of an error.
	Whole = 8 << 10
)

// ellipsis marks text that was clipped. It is beyond the limit.
const ellipsis = "…"

// Text escapes every character of s that is not printable, as in a Go string literal. These are
// control characters, line and paragraph separators, invisible and bidirectional marks, and bytes
// that are not UTF-8. It clips the result to limit bytes, and marks that with an ellipsis. It does
// not escape backslashes: Text(Text(s, n), n) is Text(s, n).
func Text(s string, limit int) string {
	if len(s) <= limit && plain(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		part := s[i : i+size]
		if r == utf8.RuneError && size == 1 || !strconv.IsPrint(r) {
			quoted := strconv.Quote(part)
			part = quoted[1 : len(quoted)-1]
		}
		if b.Len()+len(part) > limit {
			return b.String() + ellipsis
		}
		b.WriteString(part)
		i += size
	}
	return b.String()
}

// Quote returns s as a Go string literal, clipped to limit bytes before the escapes.
func Quote(s string, limit int) string {
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + ellipsis
	}
	return strconv.Quote(s)
}

// plain reports whether s is printable ASCII.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// Error returns an error with the text of err, fit for logs and clipped to [Whole]. It wraps
// the errors that err wraps. It returns err itself if the text need not change, and nil for
// nil.
func Error(err error) error {
	if err == nil {
		return nil
	}
	was := err.Error()
	text := Text(was, Whole)
	if text == was {
		return err
	}
	return &printedError{text, err}
}

// A printedError is an error with another text.
type printedError struct {
	text string
	err  error
}

// Error implements error.
func (e *printedError) Error() string { return e.text }

// Unwrap is for errors.Is and errors.As.
func (e *printedError) Unwrap() error { return e.err }

// Value is Text of fmt.Sprint(v), with the limit [Quoted].
func Value(v any) string { return Text(fmt.Sprint(v), Quoted) }

// Resource returns the name, version and server of a resource for logs. There is no server if it is
// empty.
func Resource(name, version, server string) slog.Value {
	attrs := []slog.Attr{slog.String("name", Text(name, Quoted)), slog.String("version", Text(version, Short))}
	if server != "" {
		attrs = append(attrs, slog.String("server", server))
	}
	return slog.GroupValue(attrs...)
}
