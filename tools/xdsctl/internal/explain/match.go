package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xdsforge/xdsforge/framework/matcher"
	"github.com/xdsforge/xdsforge/plugins/route"
)

const million = 1_000_000

// domainOf returns the domain by which a virtual host serves an authority.
func domainOf(h *route.VirtualHost, authority string) string {
	best := ""
	for _, d := range h.Domains {
		only := &route.Update{VirtualHosts: []route.VirtualHost{{Domains: []string{d}}}}
		if only.VirtualHost(authority) == nil {
			continue
		}
		if best == "" || better(authority, d, best) {
			best = d
		}
	}
	return best
}

// better reports whether an authority selects the domain a before the domain b.
func better(authority, a, b string) bool {
	two := &route.Update{VirtualHosts: []route.VirtualHost{{Name: "b", Domains: []string{b}}, {Name: "a", Domains: []string{a}}}}
	return two.VirtualHost(authority).Name == "a"
}

// matches reports whether a single route matches a call, whatever share it takes.
func matches(r route.Route, call Call) bool {
	r.PerMillion = nil
	h := route.VirtualHost{Routes: []route.Route{r}}
	return h.Match(call.Method, call.Headers) != nil
}

// reason returns why a route does not match a call; "" if it does.
func reason(r *route.Route, call Call) string {
	if matches(*r, call) {
		return ""
	}
	if r.Ignored != "" {
		return "gRPC ignores the route: " + r.Ignored
	}
	path := *r
	path.Headers = nil
	if !matches(path, call) {
		return fmt.Sprintf("the path %q does not match: %s", call.Method, pathText(r))
	}
	for i := range r.Headers {
		h := &r.Headers[i]
		one := route.Route{Path: route.Prefix{}, CaseSensitive: true, Headers: []matcher.Header{*h}}
		if !matches(one, call) {
			return fmt.Sprintf("the header %q %s, and must match: %s", h.Name, valueText(call.Headers[h.Name]), headerText(h))
		}
	}
	return "it does not match"
}

func valueText(values []string) string {
	if len(values) == 0 {
		return "is absent"
	}
	return fmt.Sprintf("is %q", strings.Join(values, ","))
}

// matchText describes the matchers of a route.
func matchText(r *route.Route) string {
	parts := []string{pathText(r)}
	for i := range r.Headers {
		parts = append(parts, "header "+r.Headers[i].Name+" "+headerText(&r.Headers[i]))
	}
	if r.PerMillion != nil {
		parts = append(parts, Percent(*r.PerMillion)+" of the calls")
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

func pathText(r *route.Route) string {
	folded := ""
	if !r.CaseSensitive {
		folded = ", ignoring case"
	}
	switch p := r.Path.(type) {
	case route.Prefix:
		return fmt.Sprintf("prefix %q", p.Value) + folded
	case route.Exact:
		return fmt.Sprintf("path %q", p.Value) + folded
	case route.Regex:
		return fmt.Sprintf("regex %q", p.Pattern)
	}
	return ""
}

func headerText(h *matcher.Header) string {
	var text string
	switch {
	case h.Present != nil && *h.Present:
		text = "present"
	case h.Present != nil:
		text = "absent"
	case h.Range != nil:
		text = fmt.Sprintf("a number from %d to below %d", h.Range.Start, h.Range.End)
	default:
		text = stringText(&h.Value)
	}
	if h.Invert {
		return "not " + text
	}
	return text
}

func stringText(s *matcher.String) string {
	names := map[matcher.Kind]string{
		matcher.Exact: "exactly", matcher.Prefix: "prefix", matcher.Suffix: "suffix", matcher.Contains: "containing", matcher.Regex: "regex",
	}
	name, ok := names[s.Kind]
	if !ok {
		return "anything"
	}
	text := fmt.Sprintf("%s %q", name, s.Text)
	if s.IgnoreCase {
		text += ", ignoring case"
	}
	return text
}

// Percent returns a share of a million as text, such as "12.5%".
func Percent(perMillion uint32) string {
	text := fmt.Sprintf("%.4f", float64(perMillion)/10_000)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + "%"
}
