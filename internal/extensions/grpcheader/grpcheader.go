// Package grpcheader has the headers of gRPC calls as messages of xDS represent them (gRFC A102): values, changes, and
// the rules that restrict changes. It depends on no channel, so that it reads configurations and responses of services.
package grpcheader

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
)

// maxLength is the limit of a name or a value, in bytes (A102).
const maxLength = 16384

// A Header is a header of a call. The value of a name that ends in "-bin" is binary.
type Header struct{ Name, Value string }

// An Error is the first rule that a header breaks. Path is the field of the message.
type Error struct{ Path, Value, Rule string }

// Error returns "path = value; rule".
func (e *Error) Error() string { return e.Path + " = " + strconv.Quote(e.Value) + "; " + e.Rule }

// The rules of names and values.
const (
	ruleName     = "must be the name of a gRPC header: lower-case letters, digits, and the characters _ . -"
	ruleReserved = "must not be host or start with : or grpc-"
	ruleLength   = "must have at most 16384 bytes (A102)"
	ruleValue    = "must have only printable ASCII characters"
)

// Read reads a header. It uses the legacy field value only if raw_value is unset. The error is an [*Error].
func Read(m *corev3.HeaderValue) (Header, error) {
	h := Header{Name: m.GetKey(), Value: string(m.GetRawValue())}
	field := "raw_value"
	if h.Value == "" {
		field, h.Value = "value", m.GetValue()
	}
	if rule := CheckName(h.Name); rule != "" {
		return Header{}, &Error{"key", clip(h.Name), rule}
	}
	switch {
	case len(h.Value) > maxLength:
		return Header{}, &Error{field, clip(h.Value), ruleLength}
	case !binary(h.Name) && strings.ContainsFunc(h.Value, func(r rune) bool { return r < ' ' || r > '~' }):
		return Header{}, &Error{field, clip(h.Value), ruleValue}
	}
	return h, nil
}

// CheckName returns the rule that a name breaks, or "".
func CheckName(name string) string {
	switch {
	case name == "":
		return ruleName
	case len(name) > maxLength:
		return ruleLength
	case name == "host", name[0] == ':', strings.HasPrefix(name, "grpc-"):
		return ruleReserved
	}
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '.' && c != '-' {
			return ruleName
		}
	}
	return ""
}

// Message returns the message of a header. The value of a binary header is in base64. A name that is not UTF-8 gets replacement
// characters, because a message with it could not be sent.
func (h Header) Message() *corev3.HeaderValue {
	raw := []byte(h.Value)
	if binary(h.Name) {
		raw = base64.StdEncoding.AppendEncode(nil, raw)
	}
	return &corev3.HeaderValue{Key: strings.ToValidUTF8(h.Name, "\uFFFD"), RawValue: raw}
}

func binary(name string) bool { return strings.HasSuffix(name, "-bin") }

// clip returns a text for an error.
func clip(s string) string {
	const limit = 120
	if len(s) > limit {
		s = s[:limit] + "…"
	}
	return strings.ToValidUTF8(s, "�")
}

// An Action says how a header is changed.
type Action = corev3.HeaderValueOption_HeaderAppendAction

// A Change adds or replaces a header.
type Change struct {
	Header
	Action Action
}

// ReadChange reads a change. The error is an [*Error].
func ReadChange(m *corev3.HeaderValueOption) (Change, error) {
	h, err := Read(m.GetHeader())
	if err != nil {
		e := err.(*Error) //nolint:errorlint // Read returns no other
		return Change{}, &Error{"header." + e.Path, e.Value, e.Rule}
	}
	a := m.GetAppendAction()
	if _, known := corev3.HeaderValueOption_HeaderAppendAction_name[int32(a)]; !known {
		return Change{}, &Error{"append_action", a.String(), "must be an action that is defined"}
	}
	return Change{h, a}, nil
}

// Apply applies a change to headers whose names are in lower case. It does not change slices.
func (c Change) Apply(md map[string][]string) {
	values, there := md[c.Name]
	switch {
	case c.Action == corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD,
		c.Action == corev3.HeaderValueOption_ADD_IF_ABSENT && !there:
		md[c.Name] = append(slices.Clip(values), c.Value)
	case c.Action == corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
		c.Action == corev3.HeaderValueOption_OVERWRITE_IF_EXISTS && there:
		md[c.Name] = []string{c.Value}
	}
}
