package rule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
	"github.com/xdsforge/xdsforge/gen/internal/emit"
	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// Length is the rule that a list, map, text or bytes has a length within bounds.
func (kinds) Length() model.RuleKind {
	return model.RuleKind{
		Keys: []descriptor.Key{
			{Name: "min_len", Kind: descriptor.KindSize, Doc: "There must be at least as many elements, or bytes of a text."},
			{Name: "max_len", Kind: descriptor.KindSize, Doc: "There must be at most as many elements, or bytes of a text."},
		},
		Examples: []model.RuleExample{
			{Rule: "{at: text, min_len: 1, max_len: 10}", Wording: "must have between 1 and 10 bytes"},
			{Rule: "{at: tags, min_len: 1}", Wording: "must not be empty"},
			{Rule: "{at: tags, max_len: 1}", Wording: "must have at most 1 element"},
		},
		GoFields: true,
		Build:    buildLength,
	}
}

func buildLength(a *model.RuleArgs) model.Rule {
	a.Fits(a.HasLen(), "repeated, a map, a string or bytes")
	switch a.LenClass() {
	case model.String:
		return lengthOf(a, "len", textByte)
	case model.Bytes:
		return lengthOf(a, "len", octet)
	default:
		return lengthOf(a, "len", element)
	}
}

// lengthOf is the rule of the two keys that end with a name.
func lengthOf(a *model.RuleArgs, name string, u unit) model.Rule {
	least, most := "min_"+name, "max_"+name
	r := length{a.Size(least, 0), a.Size(most, -1), u}
	at := a.Arg(least)
	a.Require(!at.Given() || r.min > 0, at, diag.BadValue, "%s = 0 has no effect", least)
	a.Require(r.max < 0 || r.min <= r.max, at, diag.BadValue, "%s = %d is above %s = %d", least, r.min, most, r.max)
	return r
}

// length is a rule about a number of units.
type length struct {
	min, max int // max is -1 if there is none
	unit     unit
}

// A unit is a thing that a length counts.
type unit struct {
	name   string
	number string // of units in $
	limits string // the end of the names of its limits in package schema
	text   bool   // they are of a text, which a violation shows
	reach  model.Reach
}

var (
	element     = unit{"element", "len($)", "Properties", false, model.ReachField}
	octet       = unit{"byte", "len($)", "Bytes", false, model.ReachField}
	textByte    = unit{"byte", "len($)", "Bytes", true, model.ReachField}
	elementByte = unit{"byte", "len($)", "Bytes", true, model.ReachElement} // of each text of a list
	character   = unit{"character", "utf8.RuneCountInString($)", "Length", true, model.ReachElement}
)

// Reach implements [model.Rule].
func (r length) Reach() model.Reach { return r.unit.reach }

// Wording implements [model.Rule].
func (r length) Wording() string {
	wording, _ := r.form()
	return wording
}

// form is the wording and the condition of a violation, in which $ is the number.
func (r length) form() (wording, broken string) {
	count := func(n int) string {
		if n == 1 {
			return "1 " + r.unit.name
		}
		return fmt.Sprintf("%d %ss", n, r.unit.name)
	}
	switch {
	case r.min == 1 && r.max < 0:
		return "must not be empty", "$ == 0"
	case r.max == 0:
		return "must be empty", "$ > 0"
	case r.max < 0:
		return "must have at least " + count(r.min), fmt.Sprint("$ < ", r.min)
	case r.min == 0:
		return "must have at most " + count(r.max), fmt.Sprint("$ > ", r.max)
	case r.min == r.max:
		return "must have " + count(r.min), fmt.Sprint("$ != ", r.min)
	}
	return fmt.Sprintf("must have between %d and %s", r.min, count(r.max)), fmt.Sprintf("($ < %d || $ > %d)", r.min, r.max)
}

// Broken implements [emit.Condition].
func (r length) Broken(f *emit.Func, x *jen.Statement) (broken, shown jen.Code) {
	_, form := r.form()
	if r.unit.text {
		shown = x
		if empty := map[string]string{"$ == 0": `$ == ""`, "$ > 0": `$ != ""`}[form]; empty != "" {
			return f.Src(empty, x), shown
		}
	}
	form = strings.ReplaceAll(form, "$", r.unit.number)
	return f.Src(form, slices.Repeat([]any{x}, strings.Count(form, "$"))...), shown
}

// Limits implements [schema.Limited].
func (r length) Limits(p model.Path) map[string]any {
	of := r.unit.limits
	if r.unit == element && p.ToList() {
		of = "Items"
	}
	out := make(map[string]any)
	if r.min > 0 {
		out["min"+of] = r.min
	}
	if r.max >= 0 {
		out["max"+of] = r.max
	}
	return out
}

// Schema implements [schema.Value]. JSON Schema does not count bytes.
func (r length) Schema(p model.Path) (valid map[string]any, zero bool) {
	switch {
	case r.unit.limits != "Bytes":
		return r.Limits(p), r.min == 0
	case r.min == 1 && r.max < 0:
		return map[string]any{"minLength": 1}, false
	}
	return nil, false
}
