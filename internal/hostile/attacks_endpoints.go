package main

import (
	"fmt"

	"github.com/xdsforge/xdsforge/internal/hostile/wire"
)

// endpointAttacks are attacks by endpoints.
func endpointAttacks() []attack {
	attackOf := on(endpointMessage, "e")
	return []attack{
		attackOf("empty localities", "elements", func() []byte { return wire.Fill(wire.Usual, func(int) []byte { return wire.Field(2) }) }),
		attackOf("empty endpoints", "elements", func() []byte {
			return locality(wire.Fill(wire.Usual, func(int) []byte { return wire.Field(2) }))
		}),
		attackOf("localities up to the limit", "", func() []byte {
			return wire.Repeated(150_000, func(int) []byte { return wire.Field(2) })
		}),
		attackOf("localities with one endpoint", "", func() []byte {
			return wire.Fill(wire.Usual, func(i int) []byte {
				return wire.Field(2, wire.Field(1, wire.Text(1, fmt.Sprintf("%x", i))), endpoint(i), wire.Field(3, []byte{8, 1}))
			})
		}),
		attackOf("endpoints", "", func() []byte { return locality(wire.Fill(wire.Usual, func(i int) []byte { return endpoint(i) })) }),
		attackOf("metadata of lists", "decode limit", func() []byte {
			return locality(endpoint(1, metadata(wire.Field(6, wire.Fill(wire.Usual, func(int) []byte { return wire.Field(1) })))))
		}),
		attackOf("metadata of lists, in endpoints", "decode limit", func() []byte {
			return locality(wire.Fill(wire.Usual, func(i int) []byte {
				return endpoint(i, metadata(wire.Field(6, wire.Fill(300, func(int) []byte { return wire.Field(1) }))))
			}))
		}),
		attackOf("metadata of maps", "", func() []byte {
			return locality(endpoint(1, metadata(wire.Field(5, wire.Fill(wire.Usual, func(i int) []byte {
				return wire.Field(1, wire.Text(1, fmt.Sprintf("%x", i)), wire.Field(2, wire.Text(3, "")))
			})))))
		}),
		attackOf("keys of metadata", "", func() []byte {
			return locality(endpoint(1, wire.Field(3, wire.Fill(wire.Usual, func(i int) []byte { return wire.Field(1, wire.Text(1, fmt.Sprintf("%x", i)), wire.Field(2)) }))))
		}),
		attackOf("deep metadata", "decode limit", func() []byte {
			return locality(wire.Fill(wire.Usual, func(i int) []byte { return endpoint(i, metadata(deepValue(1000))) }))
		}),
		attackOf("too deep metadata", "cannot be parsed", func() []byte { return locality(endpoint(1, metadata(deepValue(200_000)))) }),
		attackOf("additional addresses", "elements", func() []byte {
			return locality(wire.Field(2, wire.Field(1, socket(1), wire.Fill(wire.Usual, func(int) []byte { return wire.Field(4) }))))
		}),
	}
}

// locality is a field of a ClusterLoadAssignment.
func locality(fields ...[]byte) []byte {
	return wire.Field(2, append([][]byte{wire.Field(1, wire.Text(1, "here")), wire.Field(3, []byte{8, 1})}, fields...)...)
}

// endpoint is a field of a locality: an endpoint whose address has a number.
func endpoint(i int, fields ...[]byte) []byte {
	return wire.Field(2, append([][]byte{wire.Field(1, socket(i))}, fields...)...)
}

// socket is the address of an Endpoint.
func socket(i int) []byte {
	return wire.Field(1, wire.Field(1, wire.Text(2, fmt.Sprintf("10.%d.%d.%d", i>>16&255, i>>8&255, i&255)), []byte{3 << 3, 80}))
}

// metadata is a field of an LbEndpoint with a google.protobuf.Value.
func metadata(value []byte) []byte {
	return wire.Field(3, wire.Field(1, wire.Text(1, "m"), wire.Field(2, wire.Field(1, wire.Text(1, "k"), wire.Field(2, value)))))
}

// deepValue is a google.protobuf.Value, nested as deeply: lists (field 6) of values (field 1).
func deepValue(depth int) []byte { return wire.Nested(depth, wire.Text(3, ""), 1, 6) }
