package route

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/xdsforge/xdsforge/framework/matcher"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/convert"
)

// A HashKind is the part of a request that a HashPolicy hashes.
type HashKind uint8

// The kinds. Only profile HTTP has others than the first.
const (
	HashHeader   HashKind = iota // the header, or the channel if Header is empty
	HashCookie                   // the cookie whose name Header has
	HashQuery                    // the query parameter whose name Header has
	HashSourceIP                 // the address of the peer that a proxy has the request from
)

// A HashPolicy contributes to the hash of a call (A42).
type HashPolicy struct {
	// Header is the header whose value is hashed, in lower case. If empty, the hash is the
	// same for all calls of a channel. For other kinds, it is the name that Kind describes.
	Header string
	// Regex and Substitution rewrite the value before it is hashed, if not nil.
	Regex        *regexp.Regexp
	Substitution string
	// Terminal ends the evaluation after this policy if there is a hash.
	Terminal bool
	Kind     HashKind
	// Generate has the attributes of the cookie that a request of [HashCookie] gets if it has none, such as
	// "; Max-Age=60; Path=/; HttpOnly". If it is empty, no cookie is generated.
	Generate string
}

// channelID is the only filter state that gRPC supports: the ID of the channel (A42).
const channelID = "io.grpc.channel_id"

// hashPolicies decodes the policies that gRPC supports. It leaves out others (A42).
func hashPolicies(dc *resource.DecodeContext, list []*routev3.RouteAction_HashPolicy) ([]HashPolicy, error) {
	var v resource.Violations
	var out []HashPolicy
	for i, m := range list {
		switch s := m.GetPolicySpecifier().(type) {
		case *routev3.RouteAction_HashPolicy_Header_:
			at := (*resource.Path)(nil).Item("", i)
			out = append(out, headerHash(dc, at.Field("header"), s.Header, m.GetTerminal(), &v))
		case *routev3.RouteAction_HashPolicy_FilterState_:
			if s.FilterState.GetKey() == channelID {
				out = append(out, HashPolicy{Terminal: m.GetTerminal()})
			}
		default:
			if dc.Types.Profile() != resource.HTTP {
				continue
			}
			at := (*resource.Path)(nil).Item("", i)
			if p := httpHash(at.Field("cookie"), m, &v); p.Kind != HashHeader {
				out = append(out, p)
			}
		}
	}
	return out, v.Err()
}

// httpHash returns a policy that only profile HTTP supports.
func httpHash(at resource.Path, m *routev3.RouteAction_HashPolicy, v *resource.Violations) HashPolicy {
	out := HashPolicy{Terminal: m.GetTerminal()}
	switch s := m.GetPolicySpecifier().(type) {
	case *routev3.RouteAction_HashPolicy_Cookie_:
		out.Kind, out.Header, out.Generate = HashCookie, s.Cookie.GetName(), generated(at, s.Cookie, v)
	case *routev3.RouteAction_HashPolicy_QueryParameter_:
		out.Kind, out.Header = HashQuery, s.QueryParameter.GetName()
	case *routev3.RouteAction_HashPolicy_ConnectionProperties_:
		if s.ConnectionProperties.GetSourceIp() {
			out.Kind = HashSourceIP
		}
	}
	return out
}

// generated returns the attributes of a generated cookie, or "". The path is that of the message.
func generated(at resource.Path, m *routev3.RouteAction_HashPolicy_Cookie, v *resource.Violations) string {
	if m.GetTtl() == nil {
		return ""
	}
	ttl := convert.Duration(at.Field("ttl"), m.GetTtl(), v)
	if ttl < 0 {
		v.Add(at.Field("ttl"), ttl, "must be at least 0s")
	}
	if err := checkCookie(m.GetName(), m.GetPath()); err != nil {
		v.Add(at, m.GetName(), "must have the name and the path of a cookie: "+err.Error())
	}
	out := ""
	if ttl > 0 { // a cookie without Max-Age ends with the session
		out = "; Max-Age=" + strconv.FormatInt(int64((ttl+time.Second-1)/time.Second), 10)
	}
	if m.GetPath() != "" {
		out += "; Path=" + m.GetPath()
	}
	for i, a := range m.GetAttributes() {
		if checkCookie(a.GetName(), a.GetValue()) != nil {
			v.Add(at.Item("attributes", i), a.GetName(), "must be the name of an attribute of a cookie, with a value without semicolons")
		}
		if out += "; " + a.GetName(); a.GetValue() != "" {
			out += "=" + a.GetValue()
		}
	}
	return out + "; HttpOnly"
}

// checkCookie returns an error if a name is not that of a cookie (RFC 6265), or a text cannot be a path or another attribute.
func checkCookie(name, text string) error {
	if name == "" || strings.ContainsFunc(name, notInToken) {
		return fmt.Errorf("the name %q is not a token", name)
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' || r == ';' }) {
		return fmt.Errorf("the attribute %q has a semicolon or characters that are not printable ASCII", text)
	}
	return nil
}

// notInToken reports whether a character may not be in a token (RFC 9110 section 5.6.2).
func notInToken(r rune) bool {
	return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

func headerHash(dc *resource.DecodeContext, p resource.Path, m *routev3.RouteAction_HashPolicy_Header, terminal bool, v *resource.Violations) HashPolicy {
	out := HashPolicy{Header: strings.ToLower(m.GetHeaderName()), Terminal: terminal}
	if out.Header == "" {
		v.Add(p.Field("header_name"), "", "must be set (A42)")
	}
	rewrite := m.GetRegexRewrite()
	if rewrite == nil {
		return out
	}
	re, err := matcher.CompilePart(dc, rewrite.GetPattern().GetRegex())
	if err != nil {
		v.Add(p.Field("regex_rewrite.pattern.regex"), rewrite.GetPattern().GetRegex(), err.Error())
	}
	out.Regex, out.Substitution = re, goTemplate(rewrite.GetSubstitution())
	return out
}

// goTemplate converts a substitution, in which \1 is a group, to a template of package
// regexp.
func goTemplate(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '$':
			b.WriteString("$$")
		case s[i] == '\\' && i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '9':
			i++
			b.WriteString("${" + s[i:i+1] + "}")
		case s[i] == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}
