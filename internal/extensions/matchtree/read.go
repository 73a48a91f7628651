package matchtree

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/textproto"
	"slices"

	xdscorev3 "github.com/cncf/xds/go/xds/core/v3"
	matcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// The limits of a matcher.
const (
	// maxDepth is the limit of nested matchers, and of nested predicates of a matcher (A106).
	maxDepth = 16
	// maxNodes is the limit of all matchers, outcomes and predicates.
	maxNodes = 10_000
	// maxHeader is the limit of a header's name, in bytes (A106).
	maxHeader = 16383
	// maxLabel is the limit of a key in a path, in bytes.
	maxLabel = 64
)

// An Action reads the action of an outcome at a path. The configuration was opened. Two actions of a matcher have different
// paths. A path is short, even if keys are long.
type Action[A any] func(at resource.Path, c resource.TypedConfig) A

// Read decodes a matcher at a path. It adds the violations to v; then the tree is not valid. No filter of gRPC supports
// keep_matching, so that it is a violation (A106).
func Read[A any](dc *resource.DecodeContext, p resource.Path, m *matcherv3.Matcher, v *resource.Violations, action Action[A]) *Tree[A] {
	if dc == nil {
		dc = new(resource.DecodeContext)
	}
	r := &reader[A]{dc: dc, v: v, action: action}
	return r.tree(&p, m, 1)
}

// A reader decodes one matcher.
type reader[A any] struct {
	dc     *resource.DecodeContext
	v      *resource.Violations
	action Action[A]
	nodes  int
}

// count counts a node. It returns false if there are too many. Only the first one is a violation.
func (r *reader[A]) count(p *resource.Path) bool {
	r.nodes++
	if r.nodes == maxNodes+1 {
		r.v.Add(*p, nil, fmt.Sprintf("must not be in a matcher with more than %d matchers, outcomes and predicates", maxNodes))
	}
	return r.nodes <= maxNodes
}

func (r *reader[A]) tree(p *resource.Path, m *matcherv3.Matcher, depth int) *Tree[A] {
	t := new(Tree[A])
	if !r.count(p) {
		return t
	}
	if depth > maxDepth {
		r.v.Add(*p, nil, fmt.Sprintf("must not nest more than %d matchers (A106)", maxDepth))
		return t
	}
	switch kind := m.GetMatcherType().(type) {
	case *matcherv3.Matcher_MatcherList_:
		q := p.Field("matcher_list")
		r.list(&q, kind.MatcherList, t, depth)
	case *matcherv3.Matcher_MatcherTree_:
		q := p.Field("matcher_tree")
		r.lookup(&q, kind.MatcherTree, t, depth)
	default:
		r.v.Add(p.Field("matcher_type"), nil, "must have one of matcher_list, matcher_tree set (A106)")
	}
	if none := m.GetOnNoMatch(); none != nil {
		q := p.Field("on_no_match")
		t.None = new(r.outcome(&q, none, depth))
	}
	return t
}

func (r *reader[A]) list(p *resource.Path, m *matcherv3.Matcher_MatcherList, t *Tree[A], depth int) {
	if len(m.GetMatchers()) == 0 {
		r.v.Add(p.Field("matchers"), nil, "must not be empty (A106)")
	}
	for i, entry := range m.GetMatchers() {
		q := p.Item("matchers", i)
		predicate, result := q.Field("predicate"), q.Field("on_match")
		t.Matchers = append(t.Matchers, Entry[A]{
			Predicate: r.predicate(&predicate, entry.GetPredicate(), 1),
			Outcome:   r.outcome(&result, entry.GetOnMatch(), depth),
		})
		if r.nodes > maxNodes {
			return
		}
	}
}

// lookup reads a matcher_tree.
func (r *reader[A]) lookup(p *resource.Path, m *matcherv3.Matcher_MatcherTree, t *Tree[A], depth int) {
	in := r.input(p.Field("input"), m.GetInput())
	if in.attributes {
		r.v.Add(p.Field("input"), in.message, "must be an input of text, for the keys of a map (A106)")
	}
	t.Header, t.canonical = in.header, textproto.CanonicalMIMEHeaderKey(in.header)
	var field string
	var entries map[string]*matcherv3.Matcher_OnMatch
	switch kind := m.GetTreeType().(type) {
	case *matcherv3.Matcher_MatcherTree_ExactMatchMap:
		field, entries = "exact_match_map", kind.ExactMatchMap.GetMap()
	case *matcherv3.Matcher_MatcherTree_PrefixMatchMap:
		field, entries = "prefix_match_map", kind.PrefixMatchMap.GetMap()
		t.Prefixes = lengths(entries)
	default:
		r.v.Add(p.Field("tree_type"), nil, "must have one of exact_match_map, prefix_match_map set (A106)")
		return
	}
	if len(entries) == 0 {
		r.v.Add(p.Field(field), nil, "must not be empty (A106)")
	}
	t.Values = make(map[string]Outcome[A], len(entries))
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		q := p.Field(field + ".map[" + label(key) + "]")
		t.Values[key] = r.outcome(&q, entries[key], depth)
		if r.nodes > maxNodes {
			return
		}
	}
}

// label returns a key for paths. A digest replaces most of a long key. Otherwise, the paths of the actions below long keys would
// need far more memory than the matcher.
func label(key string) string {
	if len(key) <= maxLabel {
		return key
	}
	digest := sha256.Sum256([]byte(key))
	return key[:maxLabel/2] + "...sha256:" + hex.EncodeToString(digest[:])
}

// lengths returns the lengths of keys, without duplicates, in descending order. It never returns nil.
func lengths[T any](entries map[string]T) []int {
	set := make(map[int]struct{})
	for key := range entries {
		set[len(key)] = struct{}{}
	}
	out := slices.AppendSeq(make([]int, 0, len(set)), maps.Keys(set))
	slices.Sort(out)
	slices.Reverse(out)
	return out
}

func (r *reader[A]) outcome(p *resource.Path, m *matcherv3.Matcher_OnMatch, depth int) (o Outcome[A]) {
	if !r.count(p) {
		return o
	}
	if m.GetKeepMatching() {
		r.v.Add(p.Field("keep_matching"), true, "must not be set: no filter of gRPC supports it (A103, A106)")
	}
	switch kind := m.GetOnMatch().(type) {
	case *matcherv3.Matcher_OnMatch_Matcher:
		q := p.Field("matcher")
		o.Nested = r.tree(&q, kind.Matcher, depth+1)
	case *matcherv3.Matcher_OnMatch_Action:
		q := p.Field("action")
		if c, ok := r.open(&q, kind.Action); ok {
			o.Action = r.action(q, c)
		}
	case nil:
		r.v.Add(*p, nil, "must have one of matcher, action set (A106)")
	}
	return o
}

// open opens the configuration of an extension. It returns false after a violation.
func (r *reader[A]) open(p *resource.Path, m *xdscorev3.TypedExtensionConfig) (resource.TypedConfig, bool) {
	c, err := r.dc.OpenTypedConfig(m.GetTypedConfig())
	if err != nil {
		r.v.AddError(p.Field("typed_config"), err)
		return c, false
	}
	return c, true
}
