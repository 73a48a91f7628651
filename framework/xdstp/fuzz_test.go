package xdstp

import (
	"net/url"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// FuzzParse expects Parse never to panic. A name that it accepts has the meaning of the input and a
// canonical form that does not change.
func FuzzParse(f *testing.F) {
	for _, row := range seeds {
		f.Add(row)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := Parse(s)
		l, errL := ParseLocator(s)
		if l.Name != n || (err == nil) != (errL == nil) {
			t.Fatalf("Parse = %q, %v, but ParseLocator = %q, %v", n, err, l.Name, errL)
		}
		if err != nil {
			if !n.IsZero() || !utf8.ValidString(err.Error()) {
				t.Fatalf("%q beside the error %q", n, err)
			}
			return
		}
		again, err := Parse(n.String())
		if err != nil || again != n {
			t.Fatalf("%q becomes %q, and then %q, %v", s, n, again, err)
		}
		if len(n.String()) > maxLength || !utf8.ValidString(n.String()) {
			t.Fatalf("the canonical form is %q", n)
		}
		if !n.IsXdstp() {
			if n.String() != s {
				t.Fatalf("the old-style name %q becomes %q", s, n)
			}
			return
		}
		checkCanonical(t, n)
		if got, want := meaning(t, n.String()), meaning(t, s); got != want {
			t.Fatalf("%q means %q\nbut %q means %q", s, want, n, got)
		}
	})
}

func checkCanonical(t *testing.T, n Name) {
	t.Helper()
	if strings.ContainsFunc(n.String(), func(r rune) bool { return r <= ' ' || r > '~' || r == '#' }) {
		t.Fatalf("%q is no URI without a fragment", n)
	}
	if n.Type() == "" || strings.ContainsFunc(n.Authority()+n.Type(), unicode.IsControl) {
		t.Fatalf("%q has authority %q and type %q", n, n.Authority(), n.Type())
	}
	last, first := "", true
	for key, value := range n.Params() {
		if !first && key <= last || key == "" || !utf8.ValidString(key+value) {
			t.Fatalf("%q has the parameter %q = %q after %q", n, key, value, last)
		}
		last, first = key, false
	}
}

// meaning is a simple reading of an xdstp URI: the decoded parts, segment by segment, with the
// parameters in a map. It shares no code with Parse.
func meaning(t *testing.T, s string) string {
	t.Helper()
	unescape := func(s string) string {
		decoded, err := url.PathUnescape(s)
		if err != nil {
			t.Fatalf("%q was accepted: %v", s, err)
		}
		return decoded
	}
	s, _, _ = strings.Cut(s, "#")
	s, query, _ := strings.Cut(s, "?")
	parts := strings.Split(strings.TrimPrefix(s, "xdstp://"), "/")
	if len(parts) == 3 && parts[2] == "" {
		parts = parts[:2]
	}
	for i := range parts {
		parts[i] = unescape(parts[i])
	}
	params := map[string][]string{}
	for piece := range strings.SplitSeq(query, "&") {
		if key, value, _ := strings.Cut(piece, "="); key != "" {
			params[unescape(key)] = []string{unescape(value)}
		}
	}
	return strings.Join(parts, "\x00/") + "\x00?" + url.Values(params).Encode()
}

// FuzzParts expects that every combination of parts has a name with exactly these parts.
func FuzzParts(f *testing.F) {
	f.Add("east", "envoy.config.cluster.v3.Cluster", "a/b", "k", "v", "l")
	f.Add("a/?#%b", "t/t", "x%2Fy", "a&b", "=", "a=b")
	f.Fuzz(func(t *testing.T, authority, typ, id, key, value, other string) {
		query := "?" + encode(key, inParam) + "=" + encode(value, inParam) + "&" + encode(other, inParam) + "=" + encode(key, inParam)
		s := "xdstp://" + EncodeAuthority(authority) + "/" + strings.ReplaceAll(EncodePath(typ), "/", "%2F") + "/" + EncodePath(id) + query
		n, err := Parse(s)
		all := authority + typ + id + key + value + other
		legal := typ != "" && key != "" && other != "" && len(s) <= maxLength &&
			!strings.ContainsFunc(all, unicode.IsControl)
		for _, part := range []string{authority, typ, id, key, value, other} {
			legal = legal && utf8.ValidString(part)
		}
		if !legal {
			return // TestParseErrors has these
		}
		if err != nil {
			t.Fatalf("Parse(%q): %v", s, err)
		}
		if n.Authority() != authority || n.Type() != typ || n.ID() != EncodePath(id) {
			t.Fatalf("%q has the parts %q, %q, %q", s, n.Authority(), n.Type(), n.ID())
		}
		want := map[string]string{key: value}
		want[other] = key
		for k, v := range n.Params() {
			if want[k] != v {
				t.Fatalf("%q has the parameter %q = %q", s, k, v)
			}
			delete(want, k)
		}
		if len(want) != 0 {
			t.Fatalf("%q has no parameter %q", s, want)
		}
	})
}

var seeds = []string{
	"", "x", "xdstp", "xdstp:", "xdstp://", "xdstp:///", "xdstp://e/t", "xdstp://e/t/", "xdstp://e/t/i?",
	"xdstp://a%2f%25/%74/x%2Fy/%3a%5b?b=%26&a=%3D&a=2&c", "xdstp://é/t/%E6%97%A5?%ff",
	"xdstp://e/t/i?j=&i=&h=&g=&f=&e=&d=&c=&b=&a=", "xdstp://e/t/*?k=v#entry=a,alt=xdstp://f/t/i%23entry=b",
	"xdstp://e/t/%C0%AF", "xdstp://e/t/%00", "xdstp://e/t/i?=&&a==#",
}
