package main

import (
	"context"
	"fmt"

	"github.com/xdsforge/xdsforge/internal/hostile/wire"
)

// regexTail makes regular expressions long enough that they are too many before the routes
// are.
const regexTail = "[0-9]*/[a-z]*/[0-9]{8}"

// routeAttacks are attacks by routes.
func routeAttacks() []attack {
	attackOf := on(routeMessage, "r")
	return []attack{
		attackOf("empty virtual hosts", "elements", func() []byte { return wire.Fill(wire.Usual, func(int) []byte { return wire.Field(2) }) }),
		attackOf("empty routes", "elements", func() []byte { return host(wire.Fill(wire.Usual, func(int) []byte { return wire.Field(3) })) }),
		attackOf("distinct regexes", "regular expressions", func() []byte {
			return host(wire.Fill(wire.Usual, func(i int) []byte {
				return route(wire.Field(10, wire.Text(2, fmt.Sprintf("%x(a|b)*[a-z]+%s", i, regexTail))))
			}))
		}),
		attackOf("routes up to the limit", "", func() []byte {
			return host(wire.Repeated(130_000, func(int) []byte { return route(wire.Text(1, "")) }))
		}),
		attackOf("overrides of filters", "decode limit", func() []byte {
			return host(route(wire.Text(1, "")), wire.Fill(wire.Usual, func(i int) []byte { return wire.Field(15, wire.Text(1, fmt.Sprintf("%x", i)), wire.Field(2)) }))
		}),
		attackOf("virtual hosts' domains", "", func() []byte {
			return wire.Field(2, wire.Text(1, "v"), wire.Fill(wire.Usual, func(i int) []byte { return wire.Text(2, fmt.Sprintf("%x", i)) }))
		}),
		attackOf("a regex of classes", "regular expressions", func() []byte {
			return host(route(wire.Field(10, wire.Field(2, wire.Fill(wire.Usual, func(int) []byte { return []byte(`\pL`) })))))
		}),
		attackOf("a long invalid regex", "safe_regex", func() []byte {
			return host(route(wire.Field(10, wire.Field(2, wire.Fill(200<<10, func(int) []byte { return []byte(`(`) })))))
		}),
		attackOf("hash policies", "decode limit", func() []byte {
			return host(wire.Field(3, wire.Field(1, wire.Text(1, "")), wire.Field(2, wire.Text(1, "c"), wire.Fill(wire.Usual, func(int) []byte { return wire.Field(15) }))))
		}),
		attackOf("60 KiB of regexes in hash policies", "regular expressions", func() []byte {
			return host(wire.Field(3, wire.Field(1, wire.Text(1, "")), wire.Field(2, wire.Text(1, "c"), wire.Fill(60<<10, func(i int) []byte {
				return hashRewrite(costlyRegex(i))
			}))))
		}),
		{name: "60 KiB of unasked regexes", watches: []Watch{{Message: routeMessage, Name: "r"}}, run: func(ctx context.Context, s *scene) error {
			return s.send(ctx, routeMessage, append(wire.Text(1, "other"), costlyRoutes()...))
		}},
		attackOf("60 KiB of regexes", "regular expressions", costlyRoutes),
	}
}

// costlyRoutes is a virtual host whose routes have expensive regular expressions.
func costlyRoutes() []byte {
	return host(wire.Fill(60<<10, func(i int) []byte { return route(wire.Field(10, wire.Text(2, costlyRegex(i)))) }))
}

func costlyRegex(i int) string { return fmt.Sprintf("(abcdefghijklmnopqrst){%d}", 1000-i%900) }

// hashRewrite is a hash policy of a route that rewrites a header by a regular expression.
func hashRewrite(regex string) []byte {
	return wire.Field(15, wire.Field(1, wire.Text(1, "h"), wire.Field(2, wire.Field(1, wire.Text(2, regex)), wire.Text(2, "x"))))
}

// host is a field of a RouteConfiguration: a virtual host for all domains.
func host(fields ...[]byte) []byte {
	return wire.Field(2, append([][]byte{wire.Text(1, "v"), wire.Text(2, "*")}, fields...)...)
}

// route is a field of a virtual host: a route to a cluster, for a path.
func route(match []byte) []byte {
	return wire.Field(3, wire.Field(1, match), wire.Field(2, wire.Text(1, "c")))
}
