package route

import (
	"net/textproto"
	"strconv"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// HeaderChanges are changes of the headers of requests and responses, in order.
type HeaderChanges struct{ Request, Response []HeaderChange }

// A HeaderAction is the effect of a [HeaderChange].
type HeaderAction uint8

// The actions.
const (
	AppendHeader      HeaderAction = iota // adds a value
	AddHeaderIfAbsent                     // adds the header if it is not present
	SetHeader                             // replaces all values
	ReplaceHeader                         // replaces all values if the header is present
	RemoveHeader                          // removes all values
)

// A HeaderChange changes one header.
type HeaderChange struct {
	// Name is the canonical name of the header, as http.Header has it.
	Name   string
	Action HeaderAction
	// Value is the new value. It is not added if it is empty, unless KeepEmpty.
	Value     HeaderValue
	KeepEmpty bool
}

// A HeaderValue is text with references to headers of the request.
type HeaderValue struct{ parts []valuePart }

// A valuePart is text, or the value of a header of the request.
type valuePart struct {
	text          string
	header, other string // canonical names; other is used if the request does not have header
	most          int    // the limit of the value's length; 0: none
}

// Format returns the value for a request. header returns the first value of a header.
func (t HeaderValue) Format(header func(name string) string) string {
	if len(t.parts) == 1 && t.parts[0].header == "" {
		return t.parts[0].text
	}
	var b strings.Builder
	for _, p := range t.parts {
		s := p.text
		if p.header != "" {
			if s = header(p.header); s == "" && p.other != "" {
				s = header(p.other)
			}
			if p.most > 0 {
				s = s[:min(len(s), p.most)]
			}
		}
		b.WriteString(s)
	}
	return b.String()
}

// changesOf are the fields of header changes, which several messages have.
type changesOf interface {
	GetRequestHeadersToAdd() []*corev3.HeaderValueOption
	GetRequestHeadersToRemove() []string
	GetResponseHeadersToAdd() []*corev3.HeaderValueOption
	GetResponseHeadersToRemove() []string
}

// changes decodes the header changes of one level. Headers are removed before others are added.
func (d httpDecoder) changes(p *resource.Path, m changesOf) HeaderChanges {
	return HeaderChanges{
		d.list(p, "request_headers_to_", m.GetRequestHeadersToRemove(), m.GetRequestHeadersToAdd()),
		d.list(p, "response_headers_to_", m.GetResponseHeadersToRemove(), m.GetResponseHeadersToAdd()),
	}
}

func (d httpDecoder) list(p *resource.Path, field string, removed []string, added []*corev3.HeaderValueOption) []HeaderChange {
	if len(removed)+len(added) == 0 {
		return nil
	}
	out := make([]HeaderChange, 0, len(removed)+len(added))
	for i, name := range removed {
		out = append(out, HeaderChange{Name: d.name(p.Item(field+"remove", i), name), Action: RemoveHeader})
	}
	for i, o := range added {
		q := p.Item(field+"add", i)
		c := HeaderChange{
			Name: d.name(q.Field("header.key"), o.GetHeader().GetKey()), Action: actionOf(o), KeepEmpty: o.GetKeepEmptyValue(),
			Value: d.value(q.Field("header.value"), o.GetHeader()),
		}
		out = append(out, c)
	}
	return out
}

func actionOf(o *corev3.HeaderValueOption) HeaderAction {
	if a := o.GetAppend(); a != nil && !a.GetValue() { //nolint:staticcheck // control planes still send it
		return SetHeader
	}
	switch o.GetAppendAction() {
	case corev3.HeaderValueOption_ADD_IF_ABSENT:
		return AddHeaderIfAbsent
	case corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD:
		return SetHeader
	case corev3.HeaderValueOption_OVERWRITE_IF_EXISTS:
		return ReplaceHeader
	default:
		return AppendHeader
	}
}

// name returns the canonical name of a header that may be changed.
func (d httpDecoder) name(p resource.Path, name string) string {
	if strings.HasPrefix(name, ":") || strings.EqualFold(name, "host") {
		d.v.Add(p, name, "must be neither a pseudo-header nor Host; use a rewrite")
	}
	return textproto.CanonicalMIMEHeaderKey(name)
}

// value parses a value with the command operators of Envoy's access log.
func (d httpDecoder) value(p resource.Path, h *corev3.HeaderValue) HeaderValue {
	s := h.GetValue()
	if s == "" {
		s = string(h.GetRawValue())
	}
	t, ok := parseValue(s)
	if !ok {
		d.v.Add(p, s, "must have only the operators %% and %REQ(…)%")
	}
	return t
}

// parseValue parses a value. %% stands for a percent sign, and %REQ(a?b):n% for the first n bytes of header a, or of b if
// there is no a.
func parseValue(s string) (t HeaderValue, ok bool) {
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			t.parts = append(t.parts, valuePart{text: text.String()})
			text.Reset()
		}
	}
	for s != "" {
		before, after, found := strings.Cut(s, "%")
		text.WriteString(before)
		if !found {
			break
		}
		operator, rest, closed := strings.Cut(after, "%")
		if !closed {
			return t, false
		}
		s = rest
		if operator == "" {
			text.WriteByte('%')
			continue
		}
		part, ok := parseOperator(operator)
		if !ok {
			return t, false
		}
		flush()
		t.parts = append(t.parts, part)
	}
	flush()
	return t, true
}

func parseOperator(s string) (part valuePart, ok bool) {
	s, ok = strings.CutPrefix(s, "REQ(")
	if !ok {
		return part, false
	}
	names, most, ok := strings.Cut(s, ")")
	if !ok {
		return part, false
	}
	if most != "" {
		n, err := strconv.ParseUint(strings.TrimPrefix(most, ":"), 10, 16)
		if err != nil || most[0] != ':' {
			return part, false
		}
		part.most = int(n)
	}
	name, other, _ := strings.Cut(names, "?")
	part.header, part.other = canonical(name), canonical(other)
	return part, name != ""
}

// canonical returns the canonical name of a header, and pseudo-headers unchanged.
func canonical(name string) string {
	if strings.HasPrefix(name, ":") {
		return strings.ToLower(name)
	}
	return textproto.CanonicalMIMEHeaderKey(name)
}

// join concatenates changes. Envoy applies those of the route before those of the virtual host and of the RouteConfiguration.
func join(levels ...HeaderChanges) HeaderChanges {
	var out HeaderChanges
	for _, l := range levels {
		out.Request = append(out.Request, l.Request...)
		out.Response = append(out.Response, l.Response...)
	}
	return out
}
