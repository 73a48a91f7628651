package diag

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// Pos is a position in a descriptor. Lines and columns start at 1. The zero Pos means no
// position.
type Pos struct {
	Line   int
	Column int
}

// IsZero reports whether p is the zero Pos.
func (p Pos) IsZero() bool { return p == Pos{} }

// Diagnostic is one error or warning in one descriptor.
type Diagnostic struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Code    Code   `json:"code"`
	Message string `json:"message"`
	// Hint suggests a fix. It is empty if there is no suggestion.
	Hint string `json:"hint,omitempty"`
	// Warning is true if code is generated nevertheless.
	Warning bool `json:"warning,omitempty"`
}

// String prints "file:line:column: message (hint) [code]".
func (d Diagnostic) String() string {
	warning, hint := "", ""
	if d.Warning {
		warning = "warning: "
	}
	if d.Hint != "" {
		hint = " (" + d.Hint + ")"
	}
	return fmt.Sprintf("%s:%d:%d: %s%s%s [%s]", d.File, d.Line, d.Column, warning, d.Message, hint, d.Code)
}

// Errors lists the errors in one or more descriptors. It prints one diagnostic per line.
type Errors []Diagnostic

// Error prints the diagnostics, one per line.
func (l Errors) Error() string {
	return strings.Join(slice.Map(l, Diagnostic.String), "\n")
}

// Sort sorts the list by file, position and code. It removes duplicates.
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
	list Errors // warnings, too
}

// Add adds an error.
func (b *Bag) Add(at Pos, code Code, format string, args ...any) {
	b.AddHint(at, code, "", format, args...)
}

// AddHint adds an error and a hint that suggests a fix.
func (b *Bag) AddHint(at Pos, code Code, hint, format string, args ...any) {
	d := Diagnostic{File: b.File, Line: max(at.Line, 1), Column: max(at.Column, 1), Code: code, Hint: hint}
	d.Message = fmt.Sprintf(format, args...)
	b.list = append(b.list, d)
}

// Warn adds a warning.
func (b *Bag) Warn(at Pos, code Code, format string, args ...any) {
	b.Add(at, code, format, args...)
	b.list[len(b.list)-1].Warning = true
}

// Take moves the diagnostics of another bag to b. It changes each error before.
func (b *Bag) Take(from *Bag, change func(*Diagnostic)) {
	for _, d := range from.list {
		if !d.Warning {
			change(&d)
		}
		b.list = append(b.list, d)
	}
	from.list = nil
}

// Warnings returns the collected warnings, sorted.
func (b *Bag) Warnings() Errors {
	return Errors(slice.Filter(b.list, func(d Diagnostic) bool { return d.Warning })).Sort()
}

// Errors returns the collected errors, sorted.
func (b *Bag) Errors() Errors {
	return Errors(slice.Filter(b.list, func(d Diagnostic) bool { return !d.Warning })).Sort()
}

// Len returns the number of errors so far.
func (b *Bag) Len() int { return len(b.Errors()) }
