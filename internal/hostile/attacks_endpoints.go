package main

import "fmt"

// endpointAttacks are attacks by endpoints.
func endpointAttacks() []attack {
	attackOf := on(endpointMessage, "e")
	return []attack{
		attackOf("empty localities", "elements", func() []byte { return fill(usual, func(int) []byte { return field(2) }) }),
		attackOf("empty endpoints", "elements", func() []byte {
			return locality(fill(usual, func(int) []byte { return field(2) }))
		}),
		attackOf("localities up to the limit", "", func() []byte {
			return repeated(150_000, func(int) []byte { return field(2) })
		}),
		attackOf("localities with one endpoint", "", func() []byte {
			return fill(usual, func(i int) []byte {
				return field(2, field(1, text(1, fmt.Sprintf("%x", i))), endpoint(i), field(3, []byte{8, 1}))
			})
		}),
		attackOf("endpoints", "", func() []byte { return locality(fill(usual, func(i int) []byte { return endpoint(i) })) }),
		attackOf("metadata of lists", "decode limit", func() []byte {
			return locality(endpoint(1, metadata(field(6, fill(usual, func(int) []byte { return field(1) })))))
		}),
		attackOf("metadata of lists, in endpoints", "decode limit", func() []byte {
			return locality(fill(usual, func(i int) []byte {
				return endpoint(i, metadata(field(6, fill(300, func(int) []byte { return field(1) }))))
			}))
		}),
		attackOf("metadata of maps", "", func() []byte {
			return locality(endpoint(1, metadata(field(5, fill(usual, func(i int) []byte {
				return field(1, text(1, fmt.Sprintf("%x", i)), field(2, text(3, "")))
			})))))
		}),
		attackOf("keys of metadata", "", func() []byte {
			return locality(endpoint(1, field(3, fill(usual, func(i int) []byte { return field(1, text(1, fmt.Sprintf("%x", i)), field(2)) }))))
		}),
		attackOf("deep metadata", "decode limit", func() []byte {
			return locality(fill(usual, func(i int) []byte { return endpoint(i, metadata(deepValue(1000))) }))
		}),
		attackOf("too deep metadata", "cannot be parsed", func() []byte { return locality(endpoint(1, metadata(deepValue(200_000)))) }),
		attackOf("additional addresses", "elements", func() []byte {
			return locality(field(2, field(1, socket(1), fill(usual, func(int) []byte { return field(4) }))))
		}),
	}
}

// locality is a field of a ClusterLoadAssignment.
func locality(fields ...[]byte) []byte {
	return field(2, append([][]byte{field(1, text(1, "here")), field(3, []byte{8, 1})}, fields...)...)
}

// endpoint is a field of a locality: an endpoint whose address has a number.
func endpoint(i int, fields ...[]byte) []byte {
	return field(2, append([][]byte{field(1, socket(i))}, fields...)...)
}

// socket is the address of an Endpoint.
func socket(i int) []byte {
	return field(1, field(1, text(2, fmt.Sprintf("10.%d.%d.%d", i>>16&255, i>>8&255, i&255)), []byte{3 << 3, 80}))
}

// metadata is a field of an LbEndpoint with a google.protobuf.Value.
func metadata(value []byte) []byte {
	return field(3, field(1, text(1, "m"), field(2, field(1, text(1, "k"), field(2, value)))))
}

// deepValue is a google.protobuf.Value, nested as deeply: lists (field 6) of values (field 1).
func deepValue(depth int) []byte { return nested(depth, text(3, ""), 1, 6) }
