package matchtree

import (
	"fmt"
	"net/textproto"

	xdscorev3 "github.com/cncf/xds/go/xds/core/v3"
	matcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	envoymatcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"github.com/xdsforge/xdsforge/framework/matcher"
	"github.com/xdsforge/xdsforge/framework/resource"
)

// The messages of inputs.
const (
	headerInput     = "envoy.type.matcher.v3.HttpRequestHeaderMatchInput"
	attributesInput = "xds.type.matcher.v3.HttpAttributesCelMatchInput"
)

// celMatcher is the message of matchers that a module of its own reads.
const celMatcher = "xds.type.matcher.v3.CelMatcher"

func (r *reader[A]) predicate(p *resource.Path, m *matcherv3.Matcher_MatcherList_Predicate, depth int) (out Predicate) {
	if !r.count(p) {
		return out
	}
	if depth > maxDepth {
		r.v.Add(*p, nil, fmt.Sprintf("must not nest more than %d predicates", maxDepth))
		return out
	}
	switch kind := m.GetMatchType().(type) {
	case *matcherv3.Matcher_MatcherList_Predicate_SinglePredicate_:
		q := p.Field("single_predicate")
		return r.single(&q, kind.SinglePredicate)
	case *matcherv3.Matcher_MatcherList_Predicate_OrMatcher:
		q := p.Field("or_matcher")
		out.Any = r.predicates(&q, kind.OrMatcher, depth)
	case *matcherv3.Matcher_MatcherList_Predicate_AndMatcher:
		q := p.Field("and_matcher")
		out.All = r.predicates(&q, kind.AndMatcher, depth)
	case *matcherv3.Matcher_MatcherList_Predicate_NotMatcher:
		q := p.Field("not_matcher")
		out.Not = new(r.predicate(&q, kind.NotMatcher, depth+1))
	case nil:
		r.v.Add(*p, nil, "must have one of single_predicate, or_matcher, and_matcher, not_matcher set (A106)")
	}
	return out
}

func (r *reader[A]) predicates(p *resource.Path, m *matcherv3.Matcher_MatcherList_Predicate_PredicateList, depth int) []Predicate {
	if len(m.GetPredicate()) < 2 {
		r.v.Add(p.Field("predicate"), nil, "must have at least 2 predicates (A106)")
	}
	var out []Predicate
	for i, one := range m.GetPredicate() {
		q := p.Item("predicate", i)
		out = append(out, r.predicate(&q, one, depth+1))
		if r.nodes > maxNodes {
			break
		}
	}
	return out
}

func (r *reader[A]) single(p *resource.Path, m *matcherv3.Matcher_MatcherList_Predicate_SinglePredicate) (out Predicate) {
	in := r.input(p.Field("input"), m.GetInput())
	switch kind := m.GetMatcher().(type) {
	case *matcherv3.Matcher_MatcherList_Predicate_SinglePredicate_ValueMatch:
		if in.attributes {
			r.v.Add(p.Field("input"), in.message, "must be an input of text, for value_match (A106)")
		}
		out.Header, out.canonical = in.header, textproto.CanonicalMIMEHeaderKey(in.header)
		out.Value = r.value(p.Field("value_match"), kind.ValueMatch)
	case *matcherv3.Matcher_MatcherList_Predicate_SinglePredicate_CustomMatch:
		q := p.Field("custom_match")
		out.Custom = r.custom(&q, kind.CustomMatch, in)
	case nil:
		r.v.Add(p.Field("matcher"), nil, "must have one of value_match, custom_match set (A106)")
	}
	return out
}

// An input is the part of a call that a matcher compares.
type input struct {
	message    string // empty after a violation
	header     string
	attributes bool // those of CEL
}

func (r *reader[A]) input(p resource.Path, m *xdscorev3.TypedExtensionConfig) (in input) {
	c, ok := r.open(&p, m)
	if !ok {
		return in
	}
	at := p.Field("typed_config")
	switch c.Message {
	case headerInput:
		h := new(envoymatcherv3.HttpRequestHeaderMatchInput)
		if err := c.Unmarshal(h); err != nil {
			r.v.AddError(at, err)
			return in
		}
		name, valid := lower(h.GetHeaderName())
		if !valid {
			r.v.Add(at.Field("header_name"), h.GetHeaderName(), "must be the name of a header with at most 16383 bytes (A106)")
		}
		return input{message: c.Message, header: name}
	case attributesInput:
		if err := c.Unmarshal(new(matcherv3.HttpAttributesCelMatchInput)); err != nil {
			r.v.AddError(at, err)
			return in
		}
		return input{message: c.Message, attributes: true}
	}
	r.v.Add(at, c.Message, "must be one of "+headerInput+", "+attributesInput+" (A106)")
	return in
}

// value reads a matcher of text.
func (r *reader[A]) value(p resource.Path, m *matcherv3.StringMatcher) *matcher.String {
	if re, ok := m.GetMatchPattern().(*matcherv3.StringMatcher_SafeRegex); ok && re.SafeRegex.GetRegex() == "" {
		r.v.Add(p.Field("safe_regex.regex"), "", "must not be empty (A106)")
		return nil
	}
	s, err := matcher.PartsOfString(envoyString(m)).Matcher(r.dc)
	if err != nil {
		r.v.AddError(p, err)
	}
	return &s
}

// envoyString converts a message to Envoy's message with the same fields.
func envoyString(m *matcherv3.StringMatcher) *envoymatcherv3.StringMatcher {
	out := &envoymatcherv3.StringMatcher{IgnoreCase: m.GetIgnoreCase()}
	switch p := m.GetMatchPattern().(type) {
	case *matcherv3.StringMatcher_Exact:
		out.MatchPattern = &envoymatcherv3.StringMatcher_Exact{Exact: p.Exact}
	case *matcherv3.StringMatcher_Prefix:
		out.MatchPattern = &envoymatcherv3.StringMatcher_Prefix{Prefix: p.Prefix}
	case *matcherv3.StringMatcher_Suffix:
		out.MatchPattern = &envoymatcherv3.StringMatcher_Suffix{Suffix: p.Suffix}
	case *matcherv3.StringMatcher_Contains:
		out.MatchPattern = &envoymatcherv3.StringMatcher_Contains{Contains: p.Contains}
	case *matcherv3.StringMatcher_SafeRegex:
		out.MatchPattern = &envoymatcherv3.StringMatcher_SafeRegex{SafeRegex: &envoymatcherv3.RegexMatcher{Regex: p.SafeRegex.GetRegex()}}
	}
	return out
}

// custom reads a custom_match for an input.
func (r *reader[A]) custom(p *resource.Path, m *xdscorev3.TypedExtensionConfig, in input) Custom {
	c, ok := r.open(p, m)
	if !ok || in.message == "" {
		return nil
	}
	at := p.Field("typed_config")
	registered, known := r.dc.Types.InputMatcher(c.Message)
	switch {
	case !known && c.Message == celMatcher:
		r.v.Add(at, c.Message, "needs CEL: import the module github.com/xdsforge/xdsforge/cel, and register cel.Register with xdsforge.WithTypes")
		return nil
	case !known:
		r.v.Add(at, c.Message, "must be of a matcher that is registered (A106)")
		return nil
	case registered.Input != in.message:
		r.v.Add(at, c.Message, "must have the input "+registered.Input+"; it has "+in.message+" (A106)")
		return nil
	}
	parsed, err := registered.Parse(r.dc, c)
	if err != nil {
		r.v.AddError(at, err)
		return nil
	}
	custom, ok := parsed.(Custom)
	if !ok {
		r.v.Add(at, c.Message, fmt.Sprintf("must not be read as a %T, which cannot match calls", parsed))
	}
	return custom
}
