package bootstrap

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// ParseName parses a resource name. With federation switched off, all names are
// old-style names (gRFC A47). The error is an [*xdstp.Error].
func (c *Config) ParseName(s string) (xdstp.Name, error) {
	if !c.federation {
		return xdstp.Opaque(s)
	}
	return xdstp.Parse(s)
}

// ServersFor returns the servers of a resource, most preferred first. For a new-style name they are
// those of its authority, for an old-style name the top-level ones. The errors are
// [ErrUnknownAuthority] and [ErrNoServers].
func (c *Config) ServersFor(n xdstp.Name) ([]*Server, error) {
	switch {
	case n.IsZero():
		return nil, &Error{Path: "name", Value: `""`, Rule: "must not be the zero Name"}
	case n.IsXdstp():
		a, err := c.authority(n.Authority())
		if err != nil {
			return nil, err
		}
		return a.Servers, nil
	case len(c.servers) == 0:
		return nil, ErrNoServers
	}
	return c.Servers(), nil
}

func (c *Config) authority(name string) (*Authority, error) {
	a, ok := c.Authority(name)
	if !ok {
		return nil, &unknownAuthorityError{Authority: name, Known: c.Authorities()}
	}
	return a, nil
}

// ClientListenerName returns the name of the Listener for a gRPC target, by gRFC A47's procedure
// for the xds resolver. The forms of a target are
//
//	xds:server.example.com
//	xds:/server.example.com
//	xds:///server.example.com
//	xds://authority/server.example.com
//
// ClientListenerName puts the path, without one leading '/', into a template: that of the authority
// if the target has one, else the default template. It percent-decodes authority and path first. It
// ignores a query and a fragment.
//
// An unknown authority in the target is an [ErrUnknownAuthority]. [Config.ServersFor] reports an
// unknown authority that comes from the default template.
func (c *Config) ClientListenerName(target string) (xdstp.Name, error) {
	authority, path, err := parseTarget(target)
	if err != nil {
		return xdstp.Name{}, err
	}
	template := c.clientTemplate
	if authority != "" {
		a, err := c.authority(authority)
		if err != nil {
			return xdstp.Name{}, err
		}
		template = a.ClientListenerTemplate
	}
	n, err := c.ParseName(xdstp.Expand(template, path))
	if err != nil {
		return xdstp.Name{}, fmt.Errorf("bootstrap: target = %s; must make a valid name: %w", text(target), err)
	}
	return n, nil
}

// ServerListenerName returns the name of the Listener for a server that listens on addr, such as
// "0.0.0.0:8080" or "[::]:8080" (gRFC A36, A47). If the bootstrap has no such template, the error
// is [ErrNoServerTemplate].
func (c *Config) ServerListenerName(addr string) (xdstp.Name, error) {
	switch {
	case c.serverTemplate == "":
		return xdstp.Name{}, ErrNoServerTemplate
	case addr == "":
		return xdstp.Name{}, &Error{Path: "address", Value: `""`, Rule: "must be the address that the server listens on"}
	}
	name := strings.ReplaceAll(c.serverTemplate, "%s", addr) // A36: no encoding
	if c.federation {
		name = xdstp.Expand(c.serverTemplate, addr)
	}
	n, err := c.ParseName(name)
	if err != nil {
		return xdstp.Name{}, fmt.Errorf("bootstrap: address = %s; must make a valid name: %w", text(addr), err)
	}
	return n, nil
}

// parseTarget returns the authority and the path of an xds target, decoded. The path has no leading
// '/'.
func parseTarget(target string) (authority, path string, err error) {
	fail := func(rule string, cause error) (string, string, error) {
		return "", "", &Error{Path: "target", Value: text(target), Rule: rule, Err: cause}
	}
	scheme, rest, ok := strings.Cut(target, ":")
	if !ok || !strings.EqualFold(scheme, "xds") {
		return fail("must have the scheme xds", nil)
	}
	if end := strings.IndexAny(rest, "?#"); end >= 0 {
		rest = rest[:end]
	}
	if hier, ok := strings.CutPrefix(rest, "//"); ok {
		authority, rest, _ = strings.Cut(hier, "/")
	} else {
		rest = strings.TrimPrefix(rest, "/")
	}
	if authority, err = url.PathUnescape(authority); err == nil {
		path, err = url.PathUnescape(rest)
	}
	switch {
	case err != nil:
		return fail("must be a URI", err)
	case path == "":
		return fail("must have a path, the name of a service", nil)
	}
	return authority, path, nil
}
