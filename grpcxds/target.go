package grpcxds

import (
	"fmt"
	"net/url"
	"strings"

	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/plugins/listener"
)

// OverrideAuthority implements [resolver.AuthorityOverrider]. The data-plane authority is the whole path of the
// target, escaped (gRFC A47).
func (*builder) OverrideAuthority(t resolver.Target) string {
	path := t.URL.Path
	if path == "" {
		path = t.URL.Opaque
		if p, err := url.PathUnescape(path); err == nil {
			path = p
		}
	}
	return escapeAuthority(strings.TrimPrefix(path, "/"))
}

// escapeAuthority percent-encodes the characters that are not allowed in an authority
// (RFC 3986, section 3.2).
func escapeAuthority(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~!$&'()*+,;=:[]@", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// listenerFor returns the name of the Listener of a target (gRFC A47). The target is invalid if the bootstrap has no
// servers for that name, or if the template makes names of another type.
func listenerFor(c *bootstrap.Config, target string) (xdstp.Name, error) {
	name, err := c.ClientListenerName(target)
	if err == nil {
		err = checkListener(c, name)
	}
	if err != nil {
		return name, fmt.Errorf("grpcxds: target %q: %w", target, err)
	}
	return name, nil
}

// checkListener returns an error if a name that the bootstrap's template made cannot name a Listener.
func checkListener(c *bootstrap.Config, name xdstp.Name) error {
	if err := name.CheckType(listener.Type().Name()); err != nil {
		return fmt.Errorf("the bootstrap's template makes the name %q: %w", name, err)
	}
	_, err := c.ServersFor(name)
	return err
}
