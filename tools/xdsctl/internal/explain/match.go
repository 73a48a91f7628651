package explain

import (
	"fmt"
	"strings"

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

// Percent returns a share of a million as text, such as "12.5%".
func Percent(perMillion uint32) string {
	text := fmt.Sprintf("%.4f", float64(perMillion)/10_000)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + "%"
}
