package grpcheader

import (
	"errors"
	"regexp"

	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"github.com/xdsforge/xdsforge/framework/matcher"
	"github.com/xdsforge/xdsforge/framework/resource"
)

// Rules decide which headers a service may change (A102). The zero value allows all changes.
type Rules struct {
	DisallowAll     bool
	Allow, Disallow *regexp.Regexp // match the whole name; nil: unset
	// DisallowIsError fails the call for a change that is not allowed. Otherwise the change is ignored.
	DisallowIsError bool
}

// ReadRules reads rules, which may be nil.
func ReadRules(dc *resource.DecodeContext, p resource.Path, m *mutationv3.HeaderMutationRules, v *resource.Violations) Rules {
	return Rules{
		DisallowAll:     m.GetDisallowAll().GetValue(),
		Allow:           expression(dc, p.Field("allow_expression"), m.GetAllowExpression(), v),
		Disallow:        expression(dc, p.Field("disallow_expression"), m.GetDisallowExpression(), v),
		DisallowIsError: m.GetDisallowIsError().GetValue(),
	}
}

func expression(dc *resource.DecodeContext, p resource.Path, m *matcherv3.RegexMatcher, v *resource.Violations) *regexp.Regexp {
	if m == nil {
		return nil
	}
	re, err := matcher.Compile(dc, m.GetRegex())
	if err != nil {
		v.Add(p.Field("regex"), m.GetRegex(), err.Error())
	}
	return re
}

// ErrDisallowed is the kind of error for a change that the rules do not allow, if DisallowIsError is set.
var ErrDisallowed = errors.New("the configuration does not allow to change the header")

// allow reports whether a header may be changed. The error is an ErrDisallowed.
func (r *Rules) allow(name string) (bool, error) {
	switch {
	case r.DisallowAll, r.Disallow != nil && r.Disallow.MatchString(name), r.Allow != nil && !r.Allow.MatchString(name):
		if r.DisallowIsError {
			return false, disallowed(name)
		}
		return false, nil
	}
	return true, nil
}

// A disallowed is the name of a header that a service must not change.
type disallowed string

// Error implements error.
func (d disallowed) Error() string { return clip(string(d)) + ": " + ErrDisallowed.Error() }

// Is is for [errors.Is].
func (d disallowed) Is(target error) bool { return target == ErrDisallowed }

// Changes reads the changes that the rules allow. If a change is invalid, it returns an [*Error], even if the rules do not
// allow the change.
func (r *Rules) Changes(list []*corev3.HeaderValueOption) ([]Change, error) {
	var out []Change
	for _, m := range list {
		c, err := ReadChange(m)
		if err != nil {
			return nil, err
		}
		ok, err := r.allow(c.Name)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, c)
		}
	}
	return out, nil
}

// Removals returns the headers that the rules allow to remove. If a name is invalid, it returns an [*Error].
func (r *Rules) Removals(names []string) ([]string, error) {
	var out []string
	for _, name := range names {
		if rule := CheckName(name); rule != "" {
			return nil, &Error{"name", clip(name), rule}
		}
		ok, err := r.allow(name)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, name)
		}
	}
	return out, nil
}

// A Selection decides which headers a service receives.
type Selection struct {
	// Allowed selects headers, and Disallowed excludes headers. An empty Allowed selects all.
	Allowed, Disallowed []matcher.String
}

// ReadNames reads a list of a selection, which may be nil.
func ReadNames(dc *resource.DecodeContext, p resource.Path, m *matcherv3.ListStringMatcher, v *resource.Violations) []matcher.String {
	parts := make([]matcher.StringParts, 0, len(m.GetPatterns()))
	for _, one := range m.GetPatterns() {
		parts = append(parts, matcher.PartsOfString(one))
	}
	list, err := matcher.NewStrings(dc, "patterns", parts)
	if err != nil {
		v.AddError(p, err)
	}
	return list
}

// Headers returns the selected headers of a call, or nil if there are none.
func (s *Selection) Headers(md map[string][]string) *corev3.HeaderMap {
	var out []*corev3.HeaderValue
	for name, values := range md {
		if matchAny(s.Disallowed, name) || len(s.Allowed) > 0 && !matchAny(s.Allowed, name) {
			continue
		}
		for _, value := range values {
			out = append(out, Header{name, value}.Message())
		}
	}
	if len(out) == 0 {
		return nil
	}
	return &corev3.HeaderMap{Headers: out}
}

func matchAny(list []matcher.String, name string) bool {
	for i := range list {
		if list[i].Match(name) {
			return true
		}
	}
	return false
}
