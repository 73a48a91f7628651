package emit

import (
	"fmt"
	"strings"

	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// This file has the texts of violations for each kind of rule, in the order "path = value;
// wording when condition (why)".

// rule is the whole text of a check's violation.
func rule(c *model.Check) string {
	return withReason(wording(c), c.Stated, c.Why)
}

func wording(c *model.Check) string {
	switch c.Kind {
	case model.Required:
		return "must be set"
	case model.Unset:
		return "must not be set"
	case model.Compare:
		return comparisons()[c.Compare].wording(texts(c.Values))
	case model.Range:
		return between("must be", c.Min, c.Max)
	case model.Length:
		class := c.Path.Class()
		return length(c.MinLen, c.MaxLen, c.Path.ToList() || class == model.Map)
	case model.Unique:
		return unique(pathTexts(c.Keys), c.Across)
	case model.OneOf:
		if len(c.Members) == 1 {
			return "must have " + c.Members[0].String() + " set"
		}
		return "must have exactly one of " + strings.Join(pathTexts(c.Members), ", ") + " set"
	case model.AnyType:
		if len(c.Types) == 1 {
			return "must be a " + c.Types[0]
		}
		return oneOf(c.Types)
	case model.Sum:
		subject := "sum of " + c.Sum.String()
		if c.GroupBy != nil {
			subject += " for equal " + c.GroupBy.String()
		}
		return between(subject+" must be", c.Min, c.Max)
	default:
		return ""
	}
}

// goWording is [wording] for a rule about Go fields.
func goWording(c *model.GoCheck) string {
	text := ""
	switch c.Kind {
	case model.Required:
		text = "must be set"
	case model.Compare:
		text = comparisons()[c.Compare].wording(texts(c.Values))
	case model.Range:
		text = between("must be", c.Min, c.Max)
	case model.Length:
		f := c.Path.Last()
		text = length(c.MinLen, c.MaxLen, f.List || f.Class() != model.String && f.Class() != model.Bytes)
	case model.Unique:
		keys := make([]string, len(c.Keys))
		for i, k := range c.Keys {
			keys[i] = k.Name
		}
		text = unique(keys, c.Across)
	default:
	}
	return withReason(text, model.Cond{Context: c.When}, c.Why)
}

func between(subject string, lo, hi *model.Literal) string {
	switch {
	case lo == nil:
		return subject + " at most " + hi.Text
	case hi == nil:
		return subject + " at least " + lo.Text
	}
	return subject + " between " + lo.Text + " and " + hi.Text
}

func length(lo, hi int, elements bool) string {
	unit := "byte"
	if elements {
		unit = "element"
	}
	switch {
	case lo == 1 && hi < 0:
		return "must not be empty"
	case hi == 0:
		return "must be empty"
	case hi < 0:
		return "must have at least " + count(lo, unit)
	case lo == 0:
		return "must have at most " + count(hi, unit)
	case lo == hi:
		return "must have " + count(lo, unit)
	}
	return fmt.Sprintf("must have between %d and %s", lo, count(hi, unit))
}

func count(n int, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}

func unique(keys []string, across bool) string {
	text := "must be unique"
	if len(keys) > 1 {
		text += " by " + strings.Join(keys, ", ")
	}
	if across {
		text += " in the resource"
	}
	return text
}

// withReason appends the condition and the source of a rule. It omits the profile, which
// the program chooses and which does not help the author of the resource.
func withReason(text string, when model.Cond, why string) string {
	var conds []string
	if when.Xdstp != nil {
		kind := "xdstp"
		if !*when.Xdstp {
			kind = "not xdstp"
		}
		conds = append(conds, "the resource's name is "+kind)
	}
	for _, t := range when.Tests {
		switch t.Kind {
		case model.Present:
			conds = append(conds, t.Path.String()+" is set")
		case model.Absent:
			conds = append(conds, t.Path.String()+" is not set")
		case model.Equals:
			conds = append(conds, t.Path.String()+" is "+t.Value.Text)
		}
	}
	if len(conds) > 0 {
		text += " when " + strings.Join(conds, " and ")
	}
	if why != "" {
		text += " (" + why + ")"
	}
	return text
}

func texts(values []model.Literal) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = v.Text
	}
	return out
}

func pathTexts[T fmt.Stringer](paths []T) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = p.String()
	}
	return out
}
