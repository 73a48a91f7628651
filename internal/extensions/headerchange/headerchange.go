// Package headerchange reads changes of HTTP headers from configurations, and applies them.
package headerchange

import (
	"net/http"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// maxValue is the limit of a name or a value in bytes, as Envoy has it for values.
const maxValue = 16384

// An Action says how a header is changed.
type Action uint8

// The actions.
const (
	Append           Action = iota // adds a value
	AddIfAbsent                    // adds a value unless the header is there
	Overwrite                      // replaces all values
	OverwriteIfThere               // replaces all values if the header is there
	Remove                         // removes all values
)

// A Change changes one header. Name is in canonical form.
type Change struct {
	Name, Value string
	Action      Action
}

// Apply applies changes in order.
func Apply(h http.Header, changes []Change) {
	for _, c := range changes {
		_, there := h[c.Name]
		switch {
		case c.Action == Remove:
			delete(h, c.Name)
		case c.Action == Append, c.Action == AddIfAbsent && !there:
			h[c.Name] = append(h[c.Name], c.Value)
		case c.Action == Overwrite, c.Action == OverwriteIfThere && there:
			h[c.Name] = []string{c.Value}
		}
	}
}

// Removal reads the name of a header to remove.
func Removal(p resource.Path, name string, v *resource.Violations) Change {
	return Change{Name: checked(p, name, v), Action: Remove}
}

// Option reads a header to add or to replace. It returns false for an empty value that the configuration does not keep.
func Option(p resource.Path, m *corev3.HeaderValueOption, v *resource.Violations) (Change, bool) {
	c := Change{Name: checked(p.Field("header.key"), m.GetHeader().GetKey(), v)}
	value := m.GetHeader().GetValue()
	if raw := m.GetHeader().GetRawValue(); len(raw) > 0 {
		value = string(raw)
	}
	c.Value = literal(p.Field("header.value"), value, v)
	switch a := m.GetAppendAction(); {
	case m.GetAppend() != nil && !m.GetAppend().GetValue(): //nolint:staticcheck // control planes still send it
		c.Action = Overwrite
	case a == corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD:
		c.Action = Append
	case a == corev3.HeaderValueOption_ADD_IF_ABSENT:
		c.Action = AddIfAbsent
	case a == corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD:
		c.Action = Overwrite
	case a == corev3.HeaderValueOption_OVERWRITE_IF_EXISTS:
		c.Action = OverwriteIfThere
	default:
		v.Add(p.Field("append_action"), a, "must be an action that is defined")
	}
	return c, c.Value != "" || m.GetKeepEmptyValue()
}

// checked returns the canonical form of a name. It rejects the names that decide on routes and on the framing of messages.
func checked(p resource.Path, name string, v *resource.Violations) string {
	switch lower := strings.ToLower(name); {
	case name == "" || len(name) > maxValue || strings.ContainsFunc(name, func(r rune) bool { return !isToken(r) }):
		v.Add(p, name, "must be the name of a header, with at most 16384 bytes")
	case lower == "host", lower == "content-length", lower == "transfer-encoding", lower == "connection":
		v.Add(p, name, "must not be host, connection, content-length or transfer-encoding")
	}
	return http.CanonicalHeaderKey(name)
}

// isToken reports whether a character may be in the name of a header (RFC 9110 section 5.6.2).
func isToken(r rune) bool {
	return '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

// literal returns a value without the escapes of substitution commands. Commands themselves are not supported.
func literal(p resource.Path, value string, v *resource.Violations) string {
	if len(value) > maxValue {
		v.Add(p, len(value), "must have at most 16384 bytes")
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		v.Add(p, value, "must have no control characters")
	}
	out := strings.ReplaceAll(value, "%%", "\x00")
	if strings.Contains(out, "%") {
		v.Add(p, value, "must have no substitution commands, which are not supported; write %% for a percent sign")
	}
	return strings.ReplaceAll(out, "\x00", "%")
}
