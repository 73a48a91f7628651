package main

import (
	"fmt"
	"time"

	"github.com/xdsforge/xdsforge/internal/hostile/wire"
)

// settle waits for the daemon.
func settle() error { <-time.After(settling); return nil } //nolint:forbidigo // of a program that ends soon

// initial is an entry of initial_resource_versions.
func initial(name string) []byte {
	return wire.Field(deltaInitial, wire.Text(1, name), wire.Text(2, "1"))
}

// versionAttacks are attacks by initial_resource_versions.
func versionAttacks() []attack {
	few := scene{clusters: 10}
	long := func(url string) []byte {
		return join(wire.Text(deltaURL, url), wire.Text(deltaRemove, "x"),
			wire.Fill(wire.Usual-16<<10, func(i int) []byte { return initial(fmt.Sprintf("%08000d", i)) }))
	}
	short := func(url string, extra ...[]byte) []byte {
		return join(join(extra...), wire.Text(deltaURL, url), wire.Fill(wire.Usual-1<<10, func(i int) []byte { return initial(fmt.Sprint(i)) }))
	}
	return []attack{
		sends("initial versions: 4 MiB of long names", few, stream, "", delta, func() [][]byte { return [][]byte{long(clusterURL)} }),
		sends("initial versions: 4 MiB of short names", few, stream, "", delta, func() [][]byte { return [][]byte{short(clusterURL)} }),
		sends("initial versions: 4 MiB of a wildcard client", few, stream, "", delta, func() [][]byte {
			return [][]byte{short(clusterURL, wire.Text(deltaAdd, "*"))}
		}),
		{name: "initial versions: 4 MiB for 3 types, 10 streams that do not read", scene: scene{clusters: 20_000}, budget: client, run: func(a *attacker) error {
			wildcard := join(wire.Text(deltaURL, clusterURL), wire.Text(deltaAdd, "*"))
			others := [][]byte{long(endpointURL), long(listenerURL), long(routeURL)}
			a.begin()
			for range 10 {
				c, err := a.open(delta, small()...)
				if err != nil {
					return err
				}
				c.send(wildcard)
				for _, m := range others {
					c.send(m)
				}
			}
			return settle()
		}},
		sends("initial versions: one name 400,000 times", few, stream, "", delta, func() [][]byte {
			return [][]byte{join(wire.Text(deltaURL, clusterURL), wire.Text(deltaAdd, "a"), wire.Repeated(400_000, func(int) []byte { return initial("a") }))}
		}),
	}
}

// fieldAttacks are attacks by the other fields of requests. The server keeps nothing of them but a clipped text.
func fieldAttacks() []attack {
	few := scene{clusters: 10}
	of := func(name, method, ends string, field func() []byte) attack {
		return sends(name, few, 2*request, ends, method, func() [][]byte {
			url, add := wire.Text(deltaURL, clusterURL), wire.Text(deltaAdd, "a")
			if method == whole {
				url, add = wire.Text(wholeURL, clusterURL), wire.Text(wholeNames, "a")
			}
			return [][]byte{join(url, add, field())}
		})
	}
	// The metadata of a node is a Struct; each of its fields is an entry of a map.
	metadata := func() []byte {
		return wire.Field(3, wire.Fill(wire.Usual-1<<10, func(i int) []byte {
			return wire.Field(1, wire.Text(1, fmt.Sprint(i)), wire.Field(2, wire.Text(3, "v")))
		}))
	}
	deep := func() []byte {
		// Value.struct_value (5) of Struct.fields (1), whose entries have the value in field 2.
		return wire.Field(3, wire.Field(1, wire.Text(1, "a"), wire.Field(2, wire.Nested(9000, nil, 2, 1, 5))))
	}
	return []attack{
		of("node: an id of 4 MiB", delta, "", func() []byte { return wire.Field(deltaNode, wire.Text(1, text())) }),
		of("node: metadata of 4 MiB", delta, "", func() []byte { return wire.Field(deltaNode, wire.Text(1, "n"), metadata()) }),
		of("node: metadata that is nested 9,000 times", delta, "", func() []byte { return wire.Field(deltaNode, deep()) }),
		of("node: 1,000,000 client features", whole, "", func() []byte {
			return wire.Field(wholeNode, wire.Repeated(1_000_000, func(int) []byte { return wire.Text(10, "f") }))
		}),
		of("node: 4 MiB of extensions", whole, "", func() []byte {
			return wire.Field(wholeNode, wire.Fill(wire.Usual-1<<10, func(int) []byte { return wire.Field(9) }))
		}),
		of("node: 4 MiB of dynamic parameters", whole, "", func() []byte {
			return wire.Field(wholeNode, wire.Fill(wire.Usual-1<<10, func(i int) []byte { return wire.Field(12, wire.Text(1, fmt.Sprint(i)), wire.Field(2)) }))
		}),
		of("node: 4 MiB of listening addresses", whole, "", func() []byte {
			return wire.Field(wholeNode, wire.Fill(wire.Usual-1<<10, func(int) []byte { return wire.Field(11) }))
		}),
		of("version_info of 4 MiB", whole, "", func() []byte { return wire.Text(wholeVersion, text()) }),
		of("response_nonce of 4 MiB, whole", whole, "", func() []byte { return wire.Text(wholeNonce, text()) }),
		of("response_nonce of 4 MiB, delta", delta, "", func() []byte { return wire.Text(deltaNonce, text()) }),
		of("resource_locators of 4 MiB, whole", whole, "", func() []byte {
			return wire.Fill(wire.Usual-1<<10, func(i int) []byte { return wire.Field(wholeLocators, wire.Text(1, fmt.Sprint(i))) })
		}),
		of("resource_locators of 4 MiB, delta", delta, "", func() []byte {
			return wire.Fill(wire.Usual-1<<10, func(i int) []byte { return wire.Field(deltaLocators, wire.Text(1, fmt.Sprint(i))) })
		}),
		of("4 MiB of unknown fields", delta, "", func() []byte { return wire.Fill(wire.Usual-1<<10, func(int) []byte { return wire.Text(1000, "") }) }),
		of("a request larger than 4 MiB", delta, "larger than max", func() []byte { return wire.Text(1000, text()+text()) }),
		of("a request that is no message", delta, "malformed", func() []byte { return []byte{0xff, 0xff} }),
	}
}

// typeAttacks are attacks by type URLs.
func typeAttacks() []attack {
	return []attack{
		sends("types: 90 prefixes of one type, 20,000 resources each", scene{clusters: 20_000}, stream, "", delta, func() (list [][]byte) {
			for i := range 90 {
				list = append(list, join(wire.Text(deltaURL, fmt.Sprintf("prefix-%d.example/envoy.config.cluster.v3.Cluster", i)), wire.Text(deltaAdd, "*")))
			}
			return list
		}),
		{name: "types: 9,000 prefixes of one type, 100 streams", scene: scene{clusters: 10}, budget: stream, run: func(a *attacker) error {
			a.begin()
			var last *call
			for i := range 100 {
				c, err := a.open(delta)
				if err != nil {
					return err
				}
				c.read()
				for k := range 90 {
					c.send(join(wire.Text(deltaURL, fmt.Sprintf("%d.%d/envoy.config.cluster.v3.Cluster", i, k)), wire.Text(deltaAdd, "a")))
				}
				last = c
			}
			return last.settle(settling)
		}},
		sends("types: 9,000 that are not served", scene{clusters: 10}, request, "", delta, func() (list [][]byte) {
			for i := range 9000 {
				list = append(list, join(wire.Text(deltaURL, fmt.Sprintf(prefix+"unknown.Type%d", i)), wire.Text(deltaAdd, "a")))
			}
			return list
		}),
		sends("types: one URL of 4 MiB", scene{clusters: 10}, request, "Limits.NameBytes", whole, func() [][]byte { return [][]byte{wire.Text(wholeURL, text())} }),
	}
}
