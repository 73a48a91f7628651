package rule

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/emit"
	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// A format is a form that a text can have.
type format struct {
	name    string // in descriptors
	wording string
	valid   string // the call that checks a text
	pattern string // matches all such texts, and others; empty: there is none
	right   string // a text that has the form
	wrong   string // and one that has not
}

func formats() []format {
	return []format{
		{name: "regexp", wording: "must be a regular expression (RE2) within the limits of a resource", valid: "convert.IsRegexp(dc, $)", right: "a|b", wrong: "("},
		{name: "cidr", wording: "must be an IP address with a prefix length, such as 10.0.0.0/8", valid: "convert.IsCIDR($)", pattern: "^[0-9A-Fa-f:.]+/[0-9]{1,3}$", right: "10.0.0.0/8", wrong: "10.0.0.0"},
		{name: "url", wording: "must be an absolute URL, such as https://example.com/path", valid: "convert.IsURL($)", pattern: "^[A-Za-z][A-Za-z0-9+.-]*:", right: "https://example.com/path", wrong: "a"},
		{name: "duration", wording: "must be a duration, such as 1m30s", valid: "convert.IsDuration($)", pattern: "^[-+]?(0|([0-9.]+(ns|us|µs|μs|ms|s|m|h))+)$", right: "1m30s", wrong: "1"},
		{name: "host_port", wording: "must be a host and a port from 1 to 65535, such as db.example:443", valid: "convert.IsHostPort($)", pattern: "^[^/ ]+:[0-9]+$", right: "db.example:443", wrong: "a"},
	}
}

// As is the rule that a text has the form of another value.
func (kinds) As() model.RuleKind {
	choices := slice.Map(formats(), func(f format) string { return f.name })
	return model.RuleKind{
		Keys: []descriptor.Key{{Name: "as", Kind: descriptor.KindChoice, Choices: choices, Group: "kind", Doc: "The text must be such a value. `regexp`: a regular expression of Go (RE2). `cidr`: an IP address and a prefix length. `url`: an absolute URL. `duration`: a duration of Go, such as 1m30s. `host_port`: an IP address or DNS name, and a port. Of a list, each element is checked."}},
		Examples: slice.FlatMap(formats(), func(f format) []model.RuleExample {
			return example("{at: text, as: "+f.name+"}", f.wording)
		}),
		GoFields: true,
		Build: func(a *model.RuleArgs) model.Rule {
			a.Fits(a.Class() == model.String, "a string")
			return formats()[slices.Index(choices, a.Arg("as").Value)]
		},
	}
}

// Reach implements [model.Rule].
func (format) Reach() model.Reach { return model.ReachElement }

// Wording implements [model.Rule].
func (r format) Wording() string { return r.wording }

// Broken implements [emit.Condition].
func (r format) Broken(f *emit.Func, x *jen.Statement) (broken, shown jen.Code) {
	return f.Src("!"+r.valid, x), x
}

// Texts implements [schema.Example].
func (r format) Texts() (right, wrong string) { return r.right, r.wrong }

// Schema implements [schema.Value]. JSON Schema knows other regular expressions.
func (r format) Schema(model.Path) (valid map[string]any, zero bool) {
	if r.pattern == "" {
		return nil, false
	}
	return pattern(r.pattern)
}
