package bootstrap

import (
	"errors"
	"fmt"
	"strings"
)

// The kinds of errors that callers distinguish with errors.Is.
var (
	// ErrNotConfigured is the error of Load if the environment names no bootstrap.
	ErrNotConfigured = errors.New("bootstrap: " + EnvFile + " and " + EnvContent +
		` = ""; one must be set, to the path of a bootstrap file or to its content`)
	// ErrUnknownAuthority is the error for a name or target whose authority the bootstrap does not
	// have (gRFC A47). The error's text lists the known authorities.
	ErrUnknownAuthority = errors.New("bootstrap: unknown authority")
	// ErrNoServers is the error for an old-style name if only authorities have servers.
	ErrNoServers = errors.New("bootstrap: xds_servers = missing; must be set to use old-style names")
	// ErrNoServerTemplate is the error if there is no template for the names of server-side
	// listeners (gRFC A36, A47).
	ErrNoServerTemplate = errors.New("bootstrap: server_listener_resource_name_template = missing; " +
		"must be set to create an xDS-enabled server")
)

// Error is one problem of a bootstrap configuration, or of a name or target used with it. It never
// contains a configuration of credentials.
type Error struct {
	// Source is the file or environment variable, or "".
	Source string
	// Path is the position of the problem, such as `authorities["x"].xds_servers[0].server_uri`.
	Path string
	// Value is the wrong value. Text is quoted, and long text is shortened. For a value of the
	// wrong type, it is only the kind of value.
	Value string
	// Rule is the rule that the value breaks.
	Rule string
	// Err is the cause, or nil.
	Err error
}

// Error returns "bootstrap: source: path = value; rule: cause" without the empty parts.
func (e *Error) Error() string {
	var out strings.Builder
	out.WriteString("bootstrap: ")
	if e.Source != "" {
		out.WriteString(e.Source + ": ")
	}
	if e.Path != "" {
		out.WriteString(e.Path + " = ")
	}
	out.WriteString(e.Value + "; " + e.Rule)
	if e.Err != nil {
		out.WriteString(": " + e.Err.Error())
	}
	return out.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// unknownAuthorityError reports that a name or target has an authority that the bootstrap does not
// have (gRFC A47). It is an ErrUnknownAuthority.
type unknownAuthorityError struct {
	// Authority is the unknown authority, decoded.
	Authority string
	// Known are the authorities of the bootstrap, sorted.
	Known []string
}

// Error returns a text with the unknown and the known authorities.
func (e *unknownAuthorityError) Error() string {
	rule := "the bootstrap has no authorities"
	if len(e.Known) > 0 {
		rule = fmt.Sprintf("must be one of %q", e.Known)
	}
	return fmt.Sprintf("bootstrap: authorities[%q] = missing; %s", e.Authority, rule)
}

// Is reports whether target is ErrUnknownAuthority.
func (e *unknownAuthorityError) Is(target error) bool { return target == ErrUnknownAuthority }

// problems collects the problems of one configuration.
type problems struct {
	source string
	list   []error
	paths  map[string]bool
}

// add reports a problem. If there is already one at the same path, or at one that contains it, the
// new one is only a consequence and add ignores it.
func (p *problems) add(path, value, rule string) { p.addCause(path, value, rule, nil) }

func (p *problems) addCause(path, value, rule string, cause error) {
	if p.paths[""] || p.paths[path] {
		return
	}
	for i, c := range path {
		if (c == '.' || c == '[') && p.paths[path[:i]] {
			return
		}
	}
	if p.paths == nil {
		p.paths = make(map[string]bool)
	}
	p.paths[path] = true
	p.list = append(p.list, &Error{Source: p.source, Path: path, Value: value, Rule: rule, Err: cause})
}

func (p *problems) err() error { return errors.Join(p.list...) }

// text quotes s for an Error, and shortens it.
func text(s string) string {
	const limit = 96
	if len(s) > limit {
		return fmt.Sprintf("%q…", strings.ToValidUTF8(s[:limit], ""))
	}
	return fmt.Sprintf("%q", s)
}
