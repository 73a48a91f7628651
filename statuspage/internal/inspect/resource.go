package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/status"
	"github.com/xdsforge/xdsforge/statuspage/internal/linediff"
	"github.com/xdsforge/xdsforge/statuspage/internal/message"
)

// maxRefs is the limit of references in each direction that the details of a resource list.
const maxRefs = 200

// Details describe one resource.
type Details struct {
	Item Item `json:"item"`
	// Resource is the resource with the fields that the client has read.
	Resource status.Resource `json:"resource"`
	// Violations are the broken rules of the rejected version.
	Violations []Violation `json:"violations,omitempty"`
	// Content is the message in use, redacted.
	Content []message.Line `json:"content,omitempty"`
	// Diff compares the message in use with the rejected one. It is empty if the client did not keep the
	// rejected message.
	Diff []DiffLine `json:"diff,omitempty"`
	// Refs are the resources to which it refers, Referrers those that refer to it.
	Refs      []*Node `json:"refs,omitempty"`
	Referrers []*Node `json:"referrers,omitempty"`
}

// A Violation is a rule that the rejected version breaks.
type Violation struct {
	Path  string `json:"path,omitzero"`
	Value string `json:"value,omitzero"`
	Rule  string `json:"rule"`
}

// A DiffLine is a line of the comparison.
type DiffLine struct {
	// Op is " ", "-" for a line of the version in use, "+" for one of the rejected version, or "@" for
	// lines that are left out.
	Op    linediff.Op `json:"op"`
	Depth int         `json:"depth"`
	Text  string      `json:"text"`
	// Rule is the rule that the line breaks.
	Rule string `json:"rule,omitzero"`
}

// Resource returns the details of a resource. The error is an ErrUnknown if the client has none.
func (s *Source) Resource(ctx context.Context, c Client, typ, name string) (Details, error) {
	snapshot, err := s.snapshot(ctx, c)
	if err != nil {
		return Details{}, err
	}
	i := slices.IndexFunc(snapshot.Resources, func(r status.Resource) bool { return r.Type == typ && r.Name.String() == name })
	if i < 0 {
		return Details{}, fmt.Errorf("%s %q of client %q is %w", ShortType(typ), name, c.ID, ErrUnknown)
	}
	r := &snapshot.Resources[i]
	d := Details{Item: located{c.ID, r}.item(), Resource: *r, Violations: violations(r.Err)}
	if r.Update != nil {
		d.Content = message.Lines(r.Type, r.Update.Raw())
	}
	if r.RejectedMessage != nil {
		d.Diff = diff(d.Content, message.Lines(r.Type, r.RejectedMessage), d.Violations)
	}
	d.references(c, &snapshot, r)
	return d, nil
}

// violations returns the rules in an error.
func violations(err error) (out []Violation) {
	var v *resource.ValidationError
	if !errors.As(err, &v) {
		return nil
	}
	for _, one := range v.Violations {
		out = append(out, Violation(one))
	}
	return out
}

// diff compares two messages. It marks the lines at the paths of violations.
func diff(inUse, rejected []message.Line, broken []Violation) []DiffLine {
	key := func(l message.Line) string { return fmt.Sprint(l.Depth, l.Text) }
	marked := marks(rejected, broken)
	all := linediff.Compare(inUse, rejected, key)
	folded := linediff.Fold(all, 3)
	out := make([]DiffLine, 0, len(folded))
	for _, l := range folded {
		d := DiffLine{Op: l.Op, Depth: l.Value.Depth, Text: l.Value.Text}
		if l.Op == linediff.Hidden {
			d.Text = fmt.Sprintf("%d equal lines", l.Lines)
		}
		if l.Op == linediff.New || l.Op == linediff.Both {
			d.Rule = marked[l.Value]
		}
		out = append(out, d)
	}
	return out
}

// marks returns the rules by the lines that break them: the line at the path, or the line of the
// innermost message around it that is set.
func marks(lines []message.Line, broken []Violation) map[message.Line]string {
	out := make(map[message.Line]string)
	for _, v := range broken {
		best, length := message.Line{}, -1
		for _, l := range lines {
			if n := len(l.Path); n > length && within(v.Path, l.Path) {
				best, length = l, n
			}
		}
		if length > 0 && out[best] == "" {
			out[best] = v.Rule
		}
	}
	return out
}

// within reports whether a path is below another one, or equal.
func within(path, outer string) bool {
	rest, ok := strings.CutPrefix(path, outer)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// references fills in the neighbors of a resource.
func (d *Details) references(c Client, s *status.Snapshot, r *status.Resource) {
	b := &chainBuilder{client: c.ID, index: make(map[resource.Ref]*status.Resource, len(s.Resources)), seen: make(map[resource.Ref]bool)}
	self := refOf(r)
	for i := range s.Resources {
		b.index[refOf(&s.Resources[i])] = &s.Resources[i]
	}
	for i := range s.Resources {
		o := &s.Resources[i]
		if o.Update == nil || len(d.Referrers) == maxRefs {
			continue
		}
		for ref := range o.Update.Refs() {
			if ref == self {
				d.Referrers = append(d.Referrers, b.node(refOf(o), maxDepth))
				break
			}
		}
	}
	if r.Update != nil {
		for ref := range r.Update.Refs() {
			if len(d.Refs) == maxRefs {
				break
			}
			d.Refs = append(d.Refs, b.node(ref, maxDepth))
		}
	}
}
