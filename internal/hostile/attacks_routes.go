package main

import (
	"context"
	"fmt"
)

// routeAttacks are attacks by routes.
func routeAttacks() []attack {
	watched := []watch{{message: routeMessage, name: "r"}}
	regexes := func(size int) []byte {
		return routes("r", fill(size, func(i int) []byte {
			return route(field(10, text(2, fmt.Sprintf("%x[a-z]+", i))))
		}))
	}
	one := func(body func() []byte) func(context.Context, *scene) error {
		return func(ctx context.Context, s *scene) error { return s.send(ctx, routeMessage, body()) }
	}
	return []attack{
		{name: "empty virtual hosts", watches: watched, rejected: "elements", run: one(func() []byte {
			return append(text(1, "r"), fill(usual, func(int) []byte { return field(2) })...)
		})},
		{name: "empty routes", watches: watched, rejected: "elements", run: one(func() []byte {
			return routes("r", fill(usual, func(int) []byte { return field(3) }))
		})},
		{name: "distinct regexes", watches: watched, rejected: "regular expressions", run: one(func() []byte { return regexes(usual) })},
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

// routes is a RouteConfiguration with one virtual host.
func routes(name string, encodedRoutes []byte) []byte {
	return append(text(1, name), field(2, text(1, "v"), text(2, "*"), encodedRoutes)...)
}

// route is a field of a virtual host: a route to a cluster, for a path.
func route(match []byte) []byte { return field(3, field(1, match), field(2, text(1, "c"))) }
