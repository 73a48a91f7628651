package resource

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/xdsforge/xdsforge/internal/printable"
)

// MaxViolations bounds what is kept of one resource's violations; further ones
// are counted only.
const MaxViolations = 100

// A Path is where in a message a value stands. Paths are extended on the stack
// while a decoder descends and are spelled out only for a violation: a path refers to
// the one that it was made of, which must not be written to as long as it is used. A nil
// *Path and the zero Path are the message itself.
type Path struct {
	parent *Path
	name   string
	item   int // 1 for the first element of a repeated field; 0: no element
}

// Field is the path of a field.
func (p *Path) Field(name string) Path { return Path{parent: p, name: name} }

// Item is the path of one element of a repeated field. Without a name it is an
// element of the value at p, for hooks that are given the repeated field itself.
func (p *Path) Item(name string, i int) Path { return Path{parent: p, name: name, item: i + 1} }

// String spells the path out: "endpoints[3].lb_endpoints[0].health_status".
func (p *Path) String() string { return string(p.append(nil)) }

func (p *Path) append(b []byte) []byte {
	if p == nil {
		return b
	}
	if p.parent != p { // p = p.Field("x") is a mistake, but no reason not to end
		b = p.parent.append(b)
	}
	if p.name == "" && p.item == 0 {
		return b
	}
	if len(b) > 0 && p.name != "" {
		b = append(b, '.')
	}
	b = append(b, p.name...)
	if p.item > 0 {
		b = append(b, '[')
		b = strconv.AppendInt(b, int64(p.item-1), 10)
		b = append(b, ']')
	}
	return b
}

// A Violation is one rule that a resource breaks. Those that [Violations] keep are clipped
// and escaped: they may quote the resource.
type Violation struct {
	Path  string // "outlier_detection.interval"
	Value string // as it is to be shown; empty when there is none
	Rule  string // "must be at least 0s"
}

// String prints "path = value; rule".
func (v Violation) String() string {
	switch {
	case v.Path == "":
		return v.Rule
	case v.Value == "":
		return v.Path + "; " + v.Rule
	}
	return v.Path + " = " + v.Value + "; " + v.Rule
}

// Violations collects what is wrong with one resource. The zero value is ready.
type Violations struct {
	list []Violation
	more int
}

// Add notes that the value at p breaks a rule. A nil value is not shown.
func (v *Violations) Add(p Path, value any, rule string) {
	if len(v.list) == MaxViolations {
		v.more++
		return
	}
	v.list = append(v.list, violation(p, show(value), rule))
}

// violation makes one of texts that may quote the resource: a path has the keys of maps, a
// rule the words of a parser.
func violation(p Path, value, rule string) Violation {
	return Violation{
		Path:  printable.Text(p.String(), printable.Quoted),
		Value: printable.Text(value, printable.Quoted),
		Rule:  printable.Text(rule, printable.Quoted),
	}
}

// AddError notes what a hook or a conversion says of the value at p. The
// violations of a [*ValidationError] keep their own paths, below p; a path that
// starts with "[" is an element of the repeated field or map at p.
func (v *Violations) AddError(p Path, err error) {
	if nested, ok := err.(*ValidationError); ok { //nolint:errorlint // a wrapped one has words of its own to keep
		for _, n := range nested.Violations {
			at := p.below(n.Path)
			if len(v.list) == MaxViolations {
				v.more++
				continue
			}
			v.list = append(v.list, violation(at, n.Value, n.Rule))
		}
		v.more += nested.More
		return
	}
	v.Add(p, nil, err.Error())
}

// below is the path of what a nested error calls by its own path: a field of the
// value at p or, where that starts with a bracket, an element of it.
func (p *Path) below(nested string) Path {
	switch {
	case nested == "":
		return *p
	case nested[0] == '[' && p.item == 0:
		return Path{parent: p.parent, name: p.name + nested}
	default:
		return p.Field(nested)
	}
}

// Err is nil when nothing was added, else a [*ValidationError].
func (v *Violations) Err() error {
	if len(v.list) == 0 {
		return nil
	}
	return &ValidationError{Violations: v.list, More: v.more}
}

// A ValidationError is everything that is wrong with one resource.
type ValidationError struct {
	Violations []Violation // in the order of the descriptor's rules and fields
	More       int         // how many beyond MaxViolations were not kept
}

// Error joins the violations with ", and ".
func (e *ValidationError) Error() string {
	var b strings.Builder
	for i, v := range e.Violations {
		if i > 0 {
			b.WriteString(", and ")
		}
		b.WriteString(v.String())
	}
	if e.More > 0 {
		fmt.Fprintf(&b, ", and %d more", e.More)
	}
	return b.String()
}

// maxShown bounds how much of a value a message quotes.
const maxShown = 120

func show(value any) string {
	var s string
	switch x := value.(type) {
	case nil:
		return ""
	case string:
		if len(x) > maxShown {
			return strconv.Quote(x[:maxShown]) + "…"
		}
		return strconv.Quote(x)
	case time.Duration:
		return x.String()
	default:
		s = fmt.Sprint(x)
	}
	if len(s) > maxShown {
		s = s[:maxShown] + "…"
	}
	return s
}
