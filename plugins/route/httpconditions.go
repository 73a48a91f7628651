package route

import (
	"net/textproto"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/xdsforge/xdsforge/framework/matcher"
	"github.com/xdsforge/xdsforge/framework/resource"
)

// matchConditions are those of a route that only profile HTTP evaluates, besides query parameters. A request must match all of them.
type matchConditions struct {
	cookies []cookieMatcher
	// grpc matches only gRPC calls.
	grpc bool
	// presented is whether the client must present a certificate, and validated whether the server must have verified it. Nil:
	// either.
	presented, validated *bool
}

// A cookieMatcher matches a cookie.
type cookieMatcher struct {
	name   string
	value  matcher.String
	invert bool
}

// conditions decodes the conditions of a route. They are nil if there are none.
func (d httpDecoder) conditions(p *resource.Path, m *routev3.RouteMatch) *matchConditions {
	tls := m.GetTlsContext()
	if len(m.GetCookies()) == 0 && m.GetGrpc() == nil && tls.GetPresented() == nil && tls.GetValidated() == nil {
		return nil
	}
	out := &matchConditions{grpc: m.GetGrpc() != nil}
	if b := tls.GetPresented(); b != nil {
		out.presented = &b.Value
	}
	if b := tls.GetValidated(); b != nil {
		out.validated = &b.Value
	}
	for i, c := range m.GetCookies() {
		value, err := d.text(c.GetStringMatch())
		if err != nil {
			q := p.Item("cookies", i)
			d.v.AddError(q.Field("string_match"), err)
		}
		out.cookies = append(out.cookies, cookieMatcher{c.GetName(), value, c.GetInvertMatch()})
	}
	return out
}

// match reports whether a request matches.
func (c *matchConditions) match(r HTTPRequest) bool {
	if c == nil {
		return true
	}
	if c.grpc && !isGRPC(r.Values("content-type")) {
		return false
	}
	if c.presented != nil || c.validated != nil {
		presented, validated := false, false
		if t, ok := r.(interface {
			ClientCertificate() (presented, validated bool)
		}); ok {
			presented, validated = t.ClientCertificate()
		}
		if c.presented != nil && *c.presented != presented || c.validated != nil && *c.validated != validated {
			return false
		}
	}
	for i := range c.cookies {
		m := &c.cookies[i]
		value, there := cookie(r.Values("cookie"), m.name)
		if (there && m.value.Match(value)) == m.invert {
			return false
		}
	}
	return true
}

// isGRPC reports whether the content type of a request is that of a gRPC call, as Envoy does.
func isGRPC(values []string) bool {
	if len(values) == 0 {
		return false
	}
	rest, ok := strings.CutPrefix(values[0], "application/grpc")
	return ok && (rest == "" || rest[0] == '+')
}

// cookie returns the value of the first cookie with a name. Quotes around a value are not a part of it.
func cookie(headers []string, name string) (value string, there bool) {
	for _, h := range headers {
		for h != "" {
			var pair string
			pair, h, _ = strings.Cut(h, ";")
			key, value, ok := strings.Cut(textproto.TrimString(pair), "=")
			if !ok || textproto.TrimString(key) != name {
				continue
			}
			value = textproto.TrimString(value)
			if n := len(value); n > 1 && value[0] == '"' && value[n-1] == '"' {
				value = value[1 : n-1]
			}
			return value, true
		}
	}
	return "", false
}

// A tlsRequirement is the requests of a virtual host that must use TLS.
type tlsRequirement uint8

const (
	tlsOptional    tlsRequirement = iota // none must
	tlsForExternal                       // those of external clients must
	tlsForAll                            // all must
)

// RequiresTLS reports whether the requests of internal or of external clients must use TLS. Envoy redirects others to https. Only
// profile HTTP reads that.
func (h *VirtualHost) RequiresTLS(internal bool) bool {
	if h == nil || h.http == nil {
		return false
	}
	return h.http.tls == tlsForAll || h.http.tls == tlsForExternal && !internal
}

// requirement decodes require_tls.
func (d httpDecoder) requirement(p *resource.Path, m *routev3.VirtualHost) tlsRequirement {
	switch t := m.GetRequireTls(); t {
	case routev3.VirtualHost_NONE:
	case routev3.VirtualHost_EXTERNAL_ONLY:
		return tlsForExternal
	case routev3.VirtualHost_ALL:
		return tlsForAll
	default:
		d.v.Add(p.Field("require_tls"), t, "must be one of NONE, EXTERNAL_ONLY, ALL")
	}
	return tlsOptional
}
