package serve

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/internal/envelope"
)

// A Permission lets clients subscribe to resources. A client may subscribe to a resource if one
// Permission has the client, the type and the authority.
type Permission struct {
	// Clients are patterns of identities:
	//
	//	spiffe://example.com/ns/shop/sa/cart   a SPIFFE URI
	//	dns:cart.example.com                   a DNS name of the certificate
	//	subject:CN=cart,O=Example              the distinguished name of the certificate
	//	verified                               all clients with a verified certificate
	//	anyone                                 all clients
	//
	// A '*' at the end of a SPIFFE path or a subject stands for any text. A "*." at the start of a DNS
	// name stands for one label or more.
	Clients []string `json:"clients"`
	// Types are full names of messages, such as "envoy.config.cluster.v3.Cluster", or "*". A type
	// includes its list collection.
	Types []string `json:"types"`
	// Authorities are the authorities of the names, or "*". The empty text stands for old-style names
	// and for the empty authority.
	Authorities []string `json:"authorities"`
}

// check returns an error if the permission cannot be meant.
func (p *Permission) check() error {
	var errs []error
	for _, list := range []struct {
		name  string
		texts []string
	}{{"clients", p.Clients}, {"types", p.Types}, {"authorities", p.Authorities}} {
		if len(list.texts) == 0 {
			errs = append(errs, fmt.Errorf("%s; must not be empty", list.name))
		}
	}
	for i, c := range p.Clients {
		if err := checkPattern(c); err != nil {
			errs = append(errs, fmt.Errorf("clients[%d] = %q; %w", i, c, err))
		}
	}
	for i, t := range p.Types {
		if t == "" || strings.Contains(t, "/") || t != "*" && strings.Contains(t, "*") {
			errs = append(errs, fmt.Errorf(`types[%d] = %q; must be the full name of a message, or "*"`, i, t))
		}
	}
	for i, a := range p.Authorities {
		if a != "*" && strings.Contains(a, "*") {
			errs = append(errs, fmt.Errorf(`authorities[%d] = %q; must be an authority, or "*"`, i, a))
		}
	}
	return errors.Join(errs...)
}

func checkPattern(p string) error {
	dns, isDNS := strings.CutPrefix(p, "dns:")
	subject, isSubject := strings.CutPrefix(p, "subject:")
	switch {
	case p == "anyone", p == "verified":
		return nil
	case isDNS:
		if rest := strings.TrimPrefix(dns, "*."); rest == "" || strings.Contains(rest, "*") {
			return errors.New(`must have "*" only at the start, followed by "."`)
		}
		return nil
	case isSubject && subject != "", strings.HasPrefix(p, "spiffe://"):
		if strings.Contains(strings.TrimSuffix(p, "*"), "*") {
			return errors.New(`must have "*" only at the end`)
		}
		if !isSubject && !strings.Contains(p[len("spiffe://"):], "/") {
			return errors.New("must have a whole trust domain, followed by \"/\"")
		}
		return nil
	}
	return errors.New(`must begin with "spiffe://", "dns:" or "subject:", or be "verified" or "anyone"`)
}

// matches reports whether a pattern has an identity.
func matches(pattern string, id Identity) bool {
	text := func(pattern, s string) bool {
		if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
			return s != "" && strings.HasPrefix(s, prefix)
		}
		return s == pattern
	}
	switch {
	case pattern == "anyone":
		return true
	case pattern == "verified":
		return !id.IsZero()
	case strings.HasPrefix(pattern, "dns:"):
		return slices.ContainsFunc(id.DNS, func(name string) bool {
			if suffix, ok := strings.CutPrefix(pattern, "dns:*"); ok {
				return len(name) > len(suffix) && strings.HasSuffix(strings.ToLower(name), strings.ToLower(suffix))
			}
			return strings.EqualFold(name, pattern[len("dns:"):])
		})
	case strings.HasPrefix(pattern, "subject:"):
		return text(pattern[len("subject:"):], id.Subject)
	}
	return text(pattern, id.SPIFFE)
}

// A policy is a list of permissions.
type policy struct {
	permissions []Permission
	elements    map[string]string // types of list collections: their elements
}

func newPolicy(list []Permission, types *resource.Set) *policy {
	p := &policy{list, make(map[string]string)}
	for _, t := range types.All() {
		if t.Collection != "" {
			p.elements[t.Collection] = t.Name
		}
	}
	return p
}

// of returns the function that decides for a client, or nil if the client has no permission at all.
func (p *policy) of(id Identity) func(url, name string) bool {
	own := slices.DeleteFunc(slices.Clone(p.permissions), func(x Permission) bool {
		return !slices.ContainsFunc(x.Clients, func(pattern string) bool { return matches(pattern, id) })
	})
	if len(own) == 0 {
		return nil
	}
	has := func(list []string, text string) bool {
		return slices.Contains(list, text) || slices.Contains(list, "*")
	}
	return func(url, name string) bool {
		message := envelope.MessageName(url)
		if element, ok := p.elements[message]; ok {
			message = element
		}
		authority := authorityOf(name)
		return slices.ContainsFunc(own, func(x Permission) bool { return has(x.Types, message) && has(x.Authorities, authority) })
	}
}

// authorityOf returns the authority of a name. A malformed name names nothing.
func authorityOf(name string) string {
	if !strings.HasPrefix(name, "xdstp:") {
		return ""
	}
	n, err := xdstp.Parse(name)
	if err != nil {
		return ""
	}
	return n.Authority()
}
