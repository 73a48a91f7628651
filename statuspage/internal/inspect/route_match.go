package inspect

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/xdsforge/xdsforge/framework/matcher"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// passedOver returns the reason why a call passes a route over, or "". It asks the matcher of the route
// plugin about one condition after another.
func passedOver(r *route.Route, call Call) string {
	if r.Ignored != "" {
		return "the client ignores the route: " + r.Ignored
	}
	headers := route.Metadata(call.Headers)
	if !matches(route.Route{Path: r.Path, CaseSensitive: r.CaseSensitive}, call.Method, headers) {
		return fmt.Sprintf("the path does not match %s", pathText(r))
	}
	for _, h := range r.Headers {
		if matches(route.Route{Path: route.Prefix{}, CaseSensitive: true, Headers: []matcher.Header{h}}, call.Method, headers) {
			continue
		}
		value, ok := call.Headers[h.Name]
		if !ok {
			return fmt.Sprintf("the call has no header that matches %s", headerText(&h))
		}
		return fmt.Sprintf("the header %s: %s does not match %s", h.Name, strconv.Quote(strings.Join(value, ",")), headerText(&h))
	}
	if r.PerMillion != nil && *r.PerMillion == 0 {
		return "its share of the calls is 0"
	}
	return ""
}

// matches reports whether a virtual host with one route matches.
func matches(r route.Route, method string, headers route.Metadata) bool {
	h := route.VirtualHost{Routes: []route.Route{r}}
	return h.Match(method, headers) != nil
}

// matchText describes the conditions of a route.
func matchText(r *route.Route) string {
	if r.Ignored != "" {
		return "ignored"
	}
	parts := make([]string, 0, 2+len(r.Headers))
	parts = append(parts, pathText(r))
	for i := range r.Headers {
		if i == 20 {
			parts = append(parts, fmt.Sprintf("%d further headers", len(r.Headers)-i))
			break
		}
		parts = append(parts, headerText(&r.Headers[i]))
	}
	if r.PerMillion != nil {
		parts = append(parts, share(uint64(*r.PerMillion), 1_000_000)+" of the calls")
	}
	return strings.Join(parts, ", ")
}

func pathText(r *route.Route) string {
	text := ""
	switch p := r.Path.(type) {
	case route.Prefix:
		text = "prefix " + strconv.Quote(p.Value)
	case route.Exact:
		text = "path " + strconv.Quote(p.Value)
	case route.Regex:
		if p.Pattern != nil {
			text = strings.TrimPrefix(p.Pattern.String(), `\A(?:`) // the decoder anchors it
			text = "path ~ " + strconv.Quote(strings.TrimSuffix(text, `)\z`))
		}
		return text
	default:
		return "a path matcher that gRPC does not support"
	}
	if !r.CaseSensitive {
		text += " in any case"
	}
	return text
}

func headerText(h *matcher.Header) string {
	not := ""
	if h.Invert {
		not = "not "
	}
	switch {
	case h.Present != nil && *h.Present != h.Invert:
		return h.Name + " is present"
	case h.Present != nil:
		return h.Name + " is absent"
	case h.Range != nil:
		return fmt.Sprintf("%s %sin [%d, %d)", h.Name, not, h.Range.Start, h.Range.End)
	}
	kind := [...]string{"anything", "=", "starts with", "ends with", "contains", "~"}[h.Value.Kind]
	text := fmt.Sprintf("%s %s%s %s", h.Name, not, kind, strconv.Quote(h.Value.Text))
	if h.Value.IgnoreCase {
		text += " in any case"
	}
	return text
}

// share returns a part of a whole in percent.
func share(part, whole uint64) string {
	if whole == 0 {
		return "0 %"
	}
	return strconv.FormatFloat(float64(part)*100/float64(whole), 'g', 4, 64) + " %"
}
