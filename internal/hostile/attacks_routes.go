package main

import (
	"context"
	"fmt"
)

// regexTail makes regular expressions long enough that they are too many before the routes
// are.
const regexTail = "[0-9]*/[a-z]*/[0-9]{8}"

// routeAttacks are attacks by routes.
func routeAttacks() []attack {
	attackOf := on(routeMessage, "r")
	return []attack{
		attackOf("empty virtual hosts", "elements", func() []byte { return fill(usual, func(int) []byte { return field(2) }) }),
		attackOf("empty routes", "elements", func() []byte { return host(fill(usual, func(int) []byte { return field(3) })) }),
		attackOf("distinct regexes", "regular expressions", func() []byte {
			return host(fill(usual, func(i int) []byte { return route(field(10, text(2, fmt.Sprintf("%x(a|b)*[a-z]+%s", i, regexTail)))) }))
		}),
		attackOf("routes up to the limit", "", func() []byte {
			return host(repeated(130_000, func(int) []byte { return route(text(1, "")) }))
		}),
		attackOf("overrides of filters", "decode limit", func() []byte {
			return host(route(text(1, "")), fill(usual, func(i int) []byte { return field(15, text(1, fmt.Sprintf("%x", i)), field(2)) }))
		}),
		attackOf("virtual hosts' domains", "", func() []byte {
			return field(2, text(1, "v"), fill(usual, func(i int) []byte { return text(2, fmt.Sprintf("%x", i)) }))
		}),
		attackOf("a regex of classes", "regular expressions", func() []byte {
			return host(route(field(10, field(2, fill(usual, func(int) []byte { return []byte(`\pL`) })))))
		}),
		attackOf("a long invalid regex", "safe_regex", func() []byte {
			return host(route(field(10, field(2, fill(200<<10, func(int) []byte { return []byte(`(`) })))))
		}),
		attackOf("hash policies", "decode limit", func() []byte {
			return host(field(3, field(1, text(1, "")), field(2, text(1, "c"), fill(usual, func(int) []byte { return field(15) }))))
		}),
		attackOf("60 KiB of regexes in hash policies", "regular expressions", func() []byte {
			return host(field(3, field(1, text(1, "")), field(2, text(1, "c"), fill(60<<10, func(i int) []byte {
				return hashRewrite(costlyRegex(i))
			}))))
		}),
		{name: "60 KiB of unasked regexes", watches: []Watch{{Message: routeMessage, Name: "r"}}, run: func(ctx context.Context, s *scene) error {
			return s.send(ctx, routeMessage, append(text(1, "other"), costlyRoutes()...))
		}},
		attackOf("60 KiB of regexes", "regular expressions", costlyRoutes),
	}
}

// costlyRoutes is a virtual host whose routes have expensive regular expressions.
func costlyRoutes() []byte {
	return host(fill(60<<10, func(i int) []byte { return route(field(10, text(2, costlyRegex(i)))) }))
}

func costlyRegex(i int) string { return fmt.Sprintf("(abcdefghijklmnopqrst){%d}", 1000-i%900) }

// hashRewrite is a hash policy of a route that rewrites a header by a regular expression.
func hashRewrite(regex string) []byte {
	return field(15, field(1, text(1, "h"), field(2, field(1, text(2, regex)), text(2, "x"))))
}

// host is a field of a RouteConfiguration: a virtual host for all domains.
func host(fields ...[]byte) []byte {
	return field(2, append([][]byte{text(1, "v"), text(2, "*")}, fields...)...)
}

// route is a field of a virtual host: a route to a cluster, for a path.
func route(match []byte) []byte { return field(3, field(1, match), field(2, text(1, "c"))) }
