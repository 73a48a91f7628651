package httpxds_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/httpxds"
)

// The rules of Envoy that the model below has, from the reference of its API:
//
//	domains        exact before "*.suffix" before "prefix.*" before "*"; the longest wildcard wins; letters of both cases match
//	routes         the first one that matches; all its conditions must hold
//	prefix, path   of the path without the query; case_sensitive: false ignores the case
//	safe_regex     must match the whole path
//	headers        string matches see all values, joined by a comma; range_match needs a decimal integer; invert_match turns
//	               the result, but an absent header matches only present_match: false
//	queries        string matches see the first value; present_match needs the name only

// A modelRoute is a route with its conditions, as text of a resource and as a function.
type modelRoute struct {
	text    string
	matches []func(*modelRequest) bool
}

// A modelRequest is a request as the model reads it.
type modelRequest struct {
	host, path string
	query      url.Values
	header     http.Header
}

// all is a set of choices of a generator.
type all []string

func (a all) one(r *rand.Rand) string { return a[r.IntN(len(a))] }

var (
	modelPaths   = all{"/", "/a", "/ab", "/a/b", "/b", "/A/b", "/ba/ab", "/aab/"}
	modelValues  = all{"a", "ab", "ba", "b", "7", "-3", "12x", ""}
	modelNames   = all{"x-a", "x-b", "x-bin"}
	modelQueries = all{"q", "p"}
	modelHosts   = all{"svc", "SVC", "a.svc", "b.a.svc", "svc.a", "svc.a.b", "other"}
	modelDomains = all{"svc", "*.svc", "*.a.svc", "svc.*", "svc.a.*", "*"}
)

// randomRoute returns a route with random conditions.
func randomRoute(r *rand.Rand, index int) modelRoute {
	var m modelRoute
	var b strings.Builder
	add := func(f func(*modelRequest) bool, format string, args ...any) {
		m.matches = append(m.matches, f)
		fmt.Fprintf(&b, format+" ", args...)
	}
	path, folded := modelPaths.one(r), func(s string) string { return s }
	kind := r.IntN(3)
	if kind < 2 && r.IntN(3) == 0 {
		folded = strings.ToLower
		b.WriteString("case_sensitive { value: false } ")
	}
	switch kind {
	case 0:
		add(func(q *modelRequest) bool { return strings.HasPrefix(folded(q.path), folded(path)) }, `prefix: %q`, path)
	case 1:
		add(func(q *modelRequest) bool { return folded(q.path) == folded(path) }, `path: %q`, path)
	default:
		pattern := all{"/a+b?", "/[ab]", "/a.*", ".*b", "/a|/b"}.one(r)
		whole := regexp.MustCompile("^(?:" + pattern + ")$")
		add(func(q *modelRequest) bool { return whole.MatchString(q.path) }, `safe_regex { regex: %q }`, pattern)
	}
	for range r.IntN(3) {
		name, value, isInverted := modelNames.one(r), all{"a", "ab", "b", "a,b", ","}.one(r), r.IntN(3) == 0
		kind, test := randomString(r, value)
		switch r.IntN(4) {
		case 0:
			present := r.IntN(2) == 0
			add(func(q *modelRequest) bool { return (len(q.header.Values(name)) > 0) == present }, `headers { name: %q present_match: %t }`, name, present)
		case 1:
			add(func(q *modelRequest) bool {
				values := q.header.Values(name)
				n, err := strconv.Atoi(strings.Join(values, ","))
				return len(values) > 0 && (err == nil && n >= -3 && n < 8) != isInverted
			}, `headers { name: %q range_match { start: -3 end: 8 } invert_match: %t }`, name, isInverted)
		default:
			add(func(q *modelRequest) bool {
				values := q.header.Values(name)
				return len(values) > 0 && test(strings.Join(values, ",")) != isInverted
			}, `headers { name: %q string_match { %s: %q } invert_match: %t }`, name, kind, value, isInverted)
		}
	}
	if r.IntN(3) == 0 {
		name, value := modelQueries.one(r), all{"a", "ab", "b"}.one(r)
		if kind, test := randomString(r, value); r.IntN(2) == 0 {
			add(func(q *modelRequest) bool { return q.query.Has(name) && test(q.query.Get(name)) }, `query_parameters { name: %q string_match { %s: %q } }`, name, kind, value)
		} else {
			add(func(q *modelRequest) bool { return q.query.Has(name) }, `query_parameters { name: %q present_match: true }`, name)
		}
	}
	m.text = fmt.Sprintf(`routes { match { %s } direct_response { status: 200 body { inline_string: "%d" } } } `, b.String(), index)
	return m
}

// randomString returns a kind of string match with its meaning.
func randomString(r *rand.Rand, value string) (kind string, test func(string) bool) {
	switch kind = (all{"exact", "prefix", "suffix", "contains"}).one(r); kind {
	case "exact":
		return kind, func(s string) bool { return s == value }
	case "prefix":
		return kind, func(s string) bool { return strings.HasPrefix(s, value) }
	case "suffix":
		return kind, func(s string) bool { return strings.HasSuffix(s, value) }
	default:
		return kind, func(s string) bool { return strings.Contains(s, value) }
	}
}

func randomRequest(r *rand.Rand) *modelRequest {
	q := &modelRequest{host: modelHosts.one(r), path: modelPaths.one(r), query: make(url.Values), header: make(http.Header)}
	for range r.IntN(4) {
		q.header.Add(modelNames.one(r), modelValues.one(r))
	}
	for range r.IntN(3) {
		q.query.Add(modelQueries.one(r), modelValues.one(r))
	}
	return q
}

// A model is a route configuration with the same routes for each of its domains.
type model struct {
	domains [][]modelRoute // in the order of modelDomains
	text    string
}

func randomModel(r *rand.Rand) *model {
	m := new(model)
	for i, d := range modelDomains {
		list := make([]modelRoute, 1+r.IntN(12))
		m.text += fmt.Sprintf("virtual_hosts { name: %q domains: %q ", d, d)
		for j := range list {
			list[j] = randomRoute(r, 100*i+j)
			m.text += list[j].text
		}
		m.text += "} "
		m.domains = append(m.domains, list)
	}
	return m
}

// answer returns the body of the response, or "" if no route matches. domain is that of the virtual host.
func (m *model) answer(domain string, q *modelRequest) string {
	for i, d := range modelDomains {
		if d != domain {
			continue
		}
	routes:
		for j, route := range m.domains[i] {
			for _, holds := range route.matches {
				if !holds(q) {
					continue routes
				}
			}
			return strconv.Itoa(100*i + j)
		}
	}
	return ""
}

// domainOf is the table of domains: a host has exactly one.
var domainOf = map[string]string{
	"svc": "svc", "SVC": "svc", "a.svc": "*.svc", "b.a.svc": "*.a.svc", "svc.a": "svc.*", "svc.a.b": "svc.a.*", "other": "*",
}

// change sets the parts of a request.
func (q *modelRequest) change(r *http.Request) {
	r.Host = q.host
	r.URL.Path, r.URL.RawQuery, r.Header = q.path, q.query.Encode(), q.header.Clone()
}

// TestRoutesAsInEnvoy compares servers and clients with a simple model of Envoy's routes, for random routes and requests.
func TestRoutesAsInEnvoy(t *testing.T) {
	const seeds, requests = 4, 300
	for seed := range uint64(seeds) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			m := randomModel(r)
			s := newSite(t, http.HandlerFunc(echo), "", nil)
			s.listen(chain("one", `route_config { name: "r" `+m.text+` }`))
			s.serving("")
			w := newWorld(t)
			w.hosts("%s", m.text)
			ours, c, matched := w.transport(), http1.client(t), 0
			for range requests {
				q := randomRequest(r)
				want := m.answer(domainOf[q.host], q)
				a, err := s.do(c, http.MethodGet, "/", q.change)
				if err != nil || a.code == http.StatusNotFound != (want == "") || want != "" && a.body != want {
					t.Errorf("the server responds %d %q to %+v, %v; want %q", a.code, a.body, q, err, want)
				}
				want = m.answer("svc", q) // the authority of the target
				body, err := get(t, ours, "http://svc/", q.change)
				var e *httpxds.Error
				if body != want || (err != nil) != (want == "") || err != nil && (!errors.As(err, &e) || e.Reason != httpxds.NoRoute) {
					t.Errorf("the client responds %q, %v to %+v; want %q", body, err, q, want)
				}
				if want != "" {
					matched++
				}
			}
			if matched == 0 {
				t.Error("no request matches a route")
			}
		})
	}
}
