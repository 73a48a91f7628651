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
	watched := []watch{{message: routeMessage, name: "r"}}
	regexes := func(size int) []byte {
		return routes("r", fill(size, func(i int) []byte {
			return route(field(10, text(2, fmt.Sprintf("%x(a|b)*[a-z]+%s", i, regexTail))))
		}))
	}
	one := func(body func() []byte) func(context.Context, *scene) error { return single(routeMessage, body) }
	return []attack{
		{name: "empty virtual hosts", watches: watched, rejected: "elements", run: one(func() []byte {
			return append(text(1, "r"), fill(usual, func(int) []byte { return field(2) })...)
		})},
		{name: "empty routes", watches: watched, rejected: "elements", run: one(func() []byte {
			return routes("r", fill(usual, func(int) []byte { return field(3) }))
		})},
		{name: "distinct regexes", watches: watched, rejected: "regular expressions", run: one(func() []byte { return regexes(usual) })},
		{name: "routes up to the limit", watches: watched, run: one(func() []byte {
			return routes("r", repeated(130_000, func(int) []byte { return route(text(1, "")) }))
		})},
		{name: "overrides of filters", watches: watched, rejected: "decode limit", run: one(func() []byte {
			return routes("r", route(text(1, "")), fill(usual, func(i int) []byte {
				return field(15, text(1, fmt.Sprintf("%x", i)), field(2))
			}))
		})},
		{name: "virtual hosts' domains", watches: watched, run: one(func() []byte {
			return append(text(1, "r"), field(2, text(1, "v"), fill(usual, func(i int) []byte { return text(2, fmt.Sprintf("%x", i)) }))...)
		})},
		{name: "a regex of classes", watches: watched, rejected: "regular expressions", run: one(func() []byte {
			return routes("r", route(field(10, field(2, fill(usual, func(int) []byte { return []byte(`\pL`) })))))
		})},
		{name: "a long invalid regex", watches: watched, rejected: "safe_regex", run: one(func() []byte {
			return routes("r", route(field(10, field(2, fill(200<<10, func(int) []byte { return []byte(`(`) })))))
		})},
		{name: "hash policies", watches: watched, rejected: "decode limit", run: one(func() []byte {
			return routes("r", field(3, field(1, text(1, "")), field(2, text(1, "c"), fill(usual, func(int) []byte { return field(15) }))))
		})},
		{name: "60 KiB of regexes in hash policies", watches: watched, rejected: "regular expressions", run: one(func() []byte {
			return routes("r", field(3, field(1, text(1, "")), field(2, text(1, "c"), fill(60<<10, func(i int) []byte {
				return hashRewrite(fmt.Sprintf("(abcdefghijklmnopqrst){%d}", 1000-i%900))
			}))))
		})},
		{name: "60 KiB of unasked regexes", watches: watched, run: one(func() []byte {
			return routes("other", fill(60<<10, func(i int) []byte {
				return route(field(10, text(2, fmt.Sprintf("(abcdefghijklmnopqrst){%d}", 1000-i%900))))
			}))
		})},
		{name: "60 KiB of regexes", watches: watched, rejected: "regular expressions", run: one(func() []byte {
			return routes("r", fill(60<<10, func(i int) []byte {
				return route(field(10, text(2, fmt.Sprintf("(abcdefghijklmnopqrst){%d}", 1000-i%900))))
			}))
		})},
	}
}

// hashRewrite is a hash policy of a route that rewrites a header by a regular expression.
func hashRewrite(regex string) []byte {
	return field(15, field(1, text(1, "h"), field(2, field(1, text(2, regex)), text(2, "x"))))
}

// single sends one resource.
func single(message string, body func() []byte) func(context.Context, *scene) error {
	return func(ctx context.Context, s *scene) error { return s.send(ctx, message, body()) }
}

// routes is a RouteConfiguration with one virtual host.
func routes(name string, fields ...[]byte) []byte {
	return append(text(1, name), field(2, append([][]byte{text(1, "v"), text(2, "*")}, fields...)...)...)
}

// route is a field of a virtual host: a route to a cluster, for a path.
func route(match []byte) []byte { return field(3, field(1, match), field(2, text(1, "c"))) }
