package main

import (
	"fmt"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/internal/hostile/wire"
)

// listenerAttacks are attacks by Listeners.
func listenerAttacks() []attack {
	attackOf := on(listenerMessage, "l")
	return []attack{
		attackOf("empty filter chains", "elements", func() []byte {
			return append(socketListener(), wire.Fill(wire.Usual, func(int) []byte { return wire.Field(3) })...)
		}),
		attackOf("inline empty routes", "elements", func() []byte {
			return clientListener(wire.Field(4, append(wire.Text(1, "r"), host(wire.Fill(wire.Usual, func(int) []byte { return wire.Field(3) }))...)))
		}),
		attackOf("inline empty virtual hosts", "elements", func() []byte {
			return clientListener(wire.Field(4, wire.Fill(wire.Usual, func(int) []byte { return wire.Field(2) })))
		}),
		attackOf("empty HTTP filters", "elements", func() []byte {
			return clientListener(wire.Fill(wire.Usual, func(int) []byte { return wire.Field(5) }))
		}),
		attackOf("empty HTTP filters near the limit", "http_filters[", func() []byte {
			return clientListener(rds(), wire.Repeated(1_100_000, func(int) []byte { return wire.Field(5) }))
		}),
		attackOf("alternatives of a filter chain", "", func() []byte {
			return append(socketListener(), wire.Field(3, wire.Field(1, alternatives(50, 50, 50)), managerFilter())...)
		}),
		attackOf("filter chains with alternatives", "", func() []byte {
			return append(socketListener(), wire.Repeated(60, func(i int) []byte {
				return wire.Field(3, wire.Field(1, wire.Field(3, cidr(200, i, 0)), alternatives(1, 45, 45)), managerFilter())
			})...)
		}),
		attackOf("filter chains' source ports", "filter_chains[0]", func() []byte {
			return append(socketListener(), wire.Field(3, wire.Field(1, wire.Field(7, wire.Fill(wire.Usual, func(i int) []byte { return []byte{byte(i%100 + 1)} }))))...) //nolint:gosec // below 101
		}),
		attackOf("deep RBAC rules", "", func() []byte {
			return policyListener(append(wire.Field(2, everybody()), wire.Field(1, wire.Nested(90, everybody(), notRule))...))
		}),
		attackOf("wide RBAC rules", "decode limit", func() []byte {
			return policyListener(append(wire.Field(2, everybody()), wire.Field(1, wire.Field(2, wire.Repeated(1_000_000, func(int) []byte { return wire.Field(1, everybody()) })))...))
		}),
		attackOf("RBAC rules up to the limit", "", func() []byte {
			return policyListener(append(wire.Field(2, everybody()), wire.Field(1, wire.Field(2, wire.Repeated(150_000, func(int) []byte { return wire.Field(1, everybody()) })))...))
		}),
	}
}

// socketListener is a Listener of a server, without a name and filter chains.
func socketListener() []byte {
	return wire.Encode(&listenerv3.Listener{Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: "127.0.0.1", PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: 1},
	}}}})
}

// clientListener is a Listener of a client without a name, whose connection manager has the fields.
func clientListener(fields ...[]byte) []byte {
	return wire.Field(19, wire.Field(1, anyOf(&hcmv3.HttpConnectionManager{}, append(fields, wire.Field(5, httpFilter(&routerv3.Router{})))...)))
}

// managerFilter is the field of a filter chain with a connection manager.
func managerFilter(filters ...[]byte) []byte {
	router := wire.Field(5, httpFilter(&routerv3.Router{}))
	return wire.Field(3, wire.Text(1, "m"), wire.Field(4, anyOf(&hcmv3.HttpConnectionManager{}, append(append([][]byte{rds()}, filters...), router)...)))
}

func rds() []byte {
	return wire.Field(3, wire.Field(1, wire.Encode(&corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}}})), wire.Text(2, "r"))
}

// httpFilter is an HttpFilter with a configuration.
func httpFilter(config proto.Message) []byte {
	return append(wire.Text(1, string(config.ProtoReflect().Descriptor().Name())), wire.Field(4, anyOf(config))...)
}

// anyOf is an Any with a message, to which encoded fields are added.
func anyOf(m proto.Message, fields ...[]byte) []byte {
	return append(wire.Text(1, typeURLPrefix+string(m.ProtoReflect().Descriptor().FullName())), wire.Field(2, append([][]byte{wire.Encode(m)}, fields...)...)...)
}

// alternatives are fields of a FilterChainMatch with so many destinations, direct sources
// and sources.
func alternatives(destinations, directs, sources int) []byte {
	prefixes := func(number int, n int) []byte {
		return wire.Repeated(n, func(i int) []byte { return wire.Field(wire.Number(number), cidr(10, i, number)) })
	}
	var b []byte
	if destinations > 1 {
		b = prefixes(3, destinations)
	}
	return append(append(b, prefixes(13, directs)...), prefixes(6, sources)...)
}

func cidr(a, b, c int) []byte {
	return wire.Encode(&corev3.CidrRange{AddressPrefix: fmt.Sprintf("%d.%d.%d.0", a, b, c), PrefixLen: wrapperspb.UInt32(24)})
}
