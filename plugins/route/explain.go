package route

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/xdsforge/xdsforge/framework/matcher"
)

// Mismatch returns the first reason why a gRPC call does not match the route, in plain English; "" if the call matches. It
// compares as [VirtualHost.Match] does, except that it does not draw: a route that takes a share of the calls has no reason.
func (r *Route) Mismatch(path string, headers Headers) string {
	switch {
	case r == nil:
		return "there is no route"
	case r.Ignored != "":
		return "clients ignore the route: " + r.Ignored
	case !r.matchesPath(path):
		return fmt.Sprintf("the path %q does not match %s", path, r.pathCondition())
	}
	for i := range r.Headers {
		h := &r.Headers[i]
		if matchHeader(h, headers) {
			continue
		}
		if value, there := headerValue(h.Name, headers); there {
			return fmt.Sprintf("the header %s: %q does not match %s", h.Name, value, headerCondition(h))
		}
		if strings.HasSuffix(h.Name, "-bin") {
			return fmt.Sprintf("routes do not see binary headers, and one must match %s", headerCondition(h))
		}
		return "the call has no header that matches " + headerCondition(h)
	}
	return ""
}

// maxConditions is the limit of headers in the text of Conditions.
const maxConditions = 20

// Conditions returns the conditions of the route for operators, such as `prefix "/shop.", tier = "gold", 12.5 % of the calls`.
// It shows at most 20 headers.
func (r *Route) Conditions() string {
	switch {
	case r == nil:
		return "no route"
	case r.Ignored != "":
		return "ignored"
	}
	parts := make([]string, 0, 2+len(r.Headers))
	parts = append(parts, r.pathCondition())
	for i := range r.Headers {
		if i == maxConditions {
			parts = append(parts, fmt.Sprintf("%d further headers", len(r.Headers)-i))
			break
		}
		parts = append(parts, headerCondition(&r.Headers[i]))
	}
	if r.PerMillion != nil {
		parts = append(parts, strconv.FormatFloat(float64(*r.PerMillion)/10_000, 'f', -1, 64)+" % of the calls")
	}
	return strings.Join(parts, ", ")
}

func (r *Route) pathCondition() string {
	text := ""
	switch p := r.Path.(type) {
	case Prefix:
		text = "prefix " + strconv.Quote(p.Value)
	case SeparatedPrefix:
		text = "path or directory " + strconv.Quote(p.Value)
	case Exact:
		text = "path " + strconv.Quote(p.Value)
	case Regex:
		if p.Pattern != nil {
			text = strings.TrimSuffix(strings.TrimPrefix(p.Pattern.String(), `\A(?:`), `)\z`) // the decoder's anchors
		}
		return "path ~ " + strconv.Quote(text)
	default:
		return "a path matcher that gRPC does not support"
	}
	if !r.CaseSensitive {
		text += " in any case"
	}
	return text
}

func headerCondition(h *matcher.Header) string {
	not, missing := "", ""
	if h.Invert {
		not = "not "
	}
	if h.MissingIsEmpty {
		missing = ", where a missing header is empty"
	}
	switch {
	case h.Present != nil && *h.Present != h.Invert:
		return h.Name + " is present"
	case h.Present != nil:
		return h.Name + " is absent"
	case h.Range != nil:
		return fmt.Sprintf("%s %sin [%d, %d)%s", h.Name, not, h.Range.Start, h.Range.End, missing)
	}
	if h.Value.Kind == matcher.Any {
		return fmt.Sprintf("%s %sof any value%s", h.Name, not, missing)
	}
	kind := map[matcher.Kind]string{
		matcher.Exact: "=", matcher.Prefix: "starts with", matcher.Suffix: "ends with", matcher.Contains: "contains", matcher.Regex: "~",
	}[h.Value.Kind]
	text := fmt.Sprintf("%s %s%s %s", h.Name, not, kind, strconv.Quote(h.Value.Text))
	if h.Value.IgnoreCase {
		text += " in any case"
	}
	return text + missing
}
