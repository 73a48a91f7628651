package diag

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Pos is a position in a descriptor. Lines and columns start at 1; the zero Pos
// is nowhere.
type Pos struct {
	Line   int
	Column int
}

// IsZero reports whether p is nowhere.
func (p Pos) IsZero() bool { return p == Pos{} }

// Diagnostic is one fault of one descriptor.
type Diagnostic struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Code    Code   `json:"code"`
	Message string `json:"message"`
	// Hint says what may mend it; empty when nothing is known.
	Hint string `json:"hint,omitempty"`
}

// String prints "file:line:column: message (hint) [code]".
func (d Diagnostic) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: %s", d.File, d.Line, d.Column, d.Message)
	if d.Hint != "" {
		fmt.Fprintf(&b, " (%s)", d.Hint)
	}
	fmt.Fprintf(&b, " [%s]", d.Code)
	return b.String()
}

// Errors is what is wrong with one or more descriptors. It prints one diagnostic
// a line.
type Errors []Diagnostic

// Error prints the diagnostics, one a line.
func (l Errors) Error() string {
	lines := make([]string, len(l))
	for i, d := range l {
		lines[i] = d.String()
	}
	return strings.Join(lines, "\n")
}

// Sort orders the list by file, position and code, and drops what is there
// twice.
func (l Errors) Sort() Errors {
	slices.SortStableFunc(l, func(a, b Diagnostic) int {
		return cmp.Or(
			strings.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
			strings.Compare(string(a.Code), string(b.Code)),
			strings.Compare(a.Message, b.Message),
		)
	})
	return slices.Compact(l)
}

// Bag collects the diagnostics of one file. The zero value with a File is ready.
type Bag struct {
	File string
	list Errors
}

// Add notes a fault.
func (b *Bag) Add(at Pos, code Code, format string, args ...any) {
	b.AddHint(at, code, "", format, args...)
}

// AddHint notes a fault and what may mend it.
func (b *Bag) AddHint(at Pos, code Code, hint, format string, args ...any) {
	b.list = append(b.list, Diagnostic{
		File:    b.File,
		Line:    max(at.Line, 1),
		Column:  max(at.Column, 1),
		Code:    code,
		Message: fmt.Sprintf(format, args...),
		Hint:    hint,
	})
}

// Len is the number of faults so far.
func (b *Bag) Len() int { return len(b.list) }

// Errors is what was collected, sorted.
func (b *Bag) Errors() Errors { return slices.Clone(b.list).Sort() }
