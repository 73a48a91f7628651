package resource

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/xdsforge/xdsforge/internal/printable"
)

// maxViolations is the limit of violations that are kept for one resource. Further ones are only
// counted.
const maxViolations = 100

// A Path is the position of a value in a message. A decoder extends paths on the stack while it
// descends. They are formatted only for a violation. A path refers to its parent, which must not be
// written to while the path is in use. A nil *Path and the zero Path are the message itself.
type Path struct {
	parent *Path
	name   string
	item   int // 1 for the first element of a repeated field; 0: no element
}

// Field returns the path of a field.
func (p *Path) Field(name string) Path { return Path{parent: p, name: name} }

// Item returns the path of one element of a repeated field. Without a name it is an element of the
// value at p. Hooks that receive the repeated field itself use that form.
func (p *Path) Item(name string, i int) Path { return Path{parent: p, name: name, item: i + 1} }

// String returns the path as text: "endpoints[3].lb_endpoints[0].health_status".
func (p *Path) String() string { return string(p.append(nil)) }

func (p *Path) append(b []byte) []byte {
	if p == nil {
		return b
	}
	if p.parent != p { // p = p.Field("x") is a mistake, but the loop must end
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

// A Violation is a rule that a resource breaks. [Violations] clips and escapes the texts, because
// they may quote the resource.
type Violation struct {
	Path  string // "outlier_detection.interval"
	Value string // the text to show; empty when there is none
	Rule  string // "must be at least 0s"
}

// String returns "path = value; rule".
func (v Violation) String() string {
	switch {
	case v.Path == "":
		return v.Rule
	case v.Value == "":
		return v.Path + "; " + v.Rule
	}
	return v.Path + " = " + v.Value + "; " + v.Rule
}

// Violations collects the violations of one resource. The zero value is ready.
type Violations struct {
	list []Violation
	more int
}

// Add records that the value at p breaks a rule. A nil value is not shown.
func (v *Violations) Add(p Path, value any, rule string) {
	if len(v.list) == maxViolations {
		v.more++
		return
	}
	v.list = append(v.list, violation(p, show(value), rule))
}

// AddFirst is [Violations.Add], unless there is a violation of the value at p. A decoder reports a number
// without a constant by it, which a rule about the value may have reported.
func (v *Violations) AddFirst(p Path, value any, rule string) {
	path := violation(p, "", "").Path
	if !slices.ContainsFunc(v.list, func(o Violation) bool { return o.Path == path }) {
		v.Add(p, value, rule)
	}
}

// violation returns a violation of texts that may quote the resource: a path contains map keys, a
// rule contains the text of a parser's error.
func violation(p Path, value, rule string) Violation {
	return Violation{
		Path:  printable.Text(p.String(), printable.Quoted),
		Value: printable.Text(value, printable.Quoted),
		Rule:  printable.Text(rule, printable.Quoted),
	}
}

// AddError records the error of a hook or a conversion for the value at p. The violations of a
// [*ValidationError] keep their own paths, below p. A path that starts with "[" is an element of
// the repeated field or map at p.
func (v *Violations) AddError(p Path, err error) {
	if nested, ok := err.(*ValidationError); ok { //nolint:errorlint // a wrapped one has words of its own to keep
		for _, n := range nested.Violations {
			at := p.below(n.Path)
			if len(v.list) == maxViolations {
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

// below returns p extended by the path of a nested error: a field of the value at p or, if the path
// starts with a bracket, an element of it.
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

// Err returns nil if there are no violations, else a [*ValidationError].
func (v *Violations) Err() error {
	if len(v.list) == 0 {
		return nil
	}
	return &ValidationError{Violations: v.list, More: v.more}
}

// A ValidationError holds all violations of one resource.
type ValidationError struct {
	Violations []Violation // in the order of the descriptor's rules and fields
	More       int         // the number of violations beyond maxViolations
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

// maxShown is the limit of a quoted value's length in a message.
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
