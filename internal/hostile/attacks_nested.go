package main

import (
	"context"
	"fmt"
	"slices"

	xdscorev3 "github.com/cncf/xds/go/xds/core/v3"
	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	roundrobinv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/round_robin/v3"
	wrrlocalityv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/wrr_locality/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/internal/hostile/beat"
	"github.com/xdsforge/xdsforge/internal/hostile/wire"
)

// ruleAttacks are attacks by the principals of RBAC filters and by header matchers.
func ruleAttacks() []attack {
	principals := func(name, rejected string, list func() []byte) attack {
		return on(listenerMessage, "l")(name, rejected, func() []byte {
			return policyListener(append(wire.Field(1, everybody()), list()...))
		})
	}
	headers := func(name, rejected string, list func() []byte) attack {
		return on(routeMessage, "r")(name, rejected, func() []byte { return host(route(append(wire.Text(1, ""), list()...))) })
	}
	regexHeader := func(i int) []byte {
		return append(wire.Text(1, "h"), wire.Field(11, wire.Text(2, fmt.Sprintf("%x(a|b)*[a-z]+%s", i, regexTail)))...)
	}
	return []attack{
		principals("deep principals", "", func() []byte { return wire.Field(2, wire.Nested(90, everybody(), notRule)) }),
		principals("principals nested 3,000 times", "", func() []byte { return wire.Field(2, wire.Nested(3000, everybody(), notRule)) }),
		principals("invalid principals nested 3,000 times", "decode limit", func() []byte {
			return wire.Fill(wire.Usual, func(int) []byte { return wire.Field(2, wire.Nested(3000, wire.Field(6), notRule)) })
		}),
		principals("principals nested too deeply", "recursion depth", func() []byte { return wire.Field(2, wire.Nested(100_000, everybody(), notRule)) }),
		principals("wide principals", "decode limit", func() []byte {
			return wire.Field(2, wire.Field(2, wire.Fill(wire.Usual, func(int) []byte { return wire.Field(1, everybody()) })))
		}),
		principals("principals up to the limit", "", func() []byte {
			return wire.Field(2, wire.Field(2, wire.Repeated(150_000, func(int) []byte { return wire.Field(1, everybody()) })))
		}),
		principals("principals with header matchers", "decode limit", func() []byte {
			return wire.Field(2, wire.Field(2, wire.Fill(wire.Usual, func(int) []byte { return wire.Field(1, wire.Field(6)) })))
		}),
		principals("principals with regexes", "regular expressions", func() []byte {
			return wire.Field(2, wire.Field(2, wire.Fill(wire.Usual, func(i int) []byte { return wire.Field(1, wire.Field(6, regexHeader(i))) })))
		}),
		headers("empty header matchers", "elements", func() []byte { return wire.Fill(wire.Usual, func(int) []byte { return wire.Field(6) }) }),
		headers("header matchers", "", func() []byte {
			return wire.Fill(wire.Usual, func(i int) []byte { return wire.Field(6, wire.Text(1, fmt.Sprintf("h%x", i)), []byte{7 << 3, 1}) })
		}),
		headers("header matchers with regexes", "regular expressions", func() []byte {
			return wire.Fill(wire.Usual, func(i int) []byte { return wire.Field(6, regexHeader(i)) })
		}),
	}
}

// policyListener is a Listener of a server without a name that has an RBAC filter. Its policy
// has the encoded fields.
func policyListener(policy []byte) []byte {
	config := anyOf(&rbacv3.RBAC{}, wire.Field(1, wire.Field(2, wire.Text(1, "p"), wire.Field(2, policy))))
	return append(socketListener(), wire.Field(3, managerFilter(wire.Field(5, wire.Text(1, "RBAC"), wire.Field(4, config))))...)
}

// everybody is a Permission or a Principal that matches all calls: they number such fields
// alike.
func everybody() []byte { return []byte{3 << 3, 1} }

// notRule is the field of a Permission or Principal that negates another.
const notRule = 8

// policyAttacks are attacks by the LB policies of clusters.
func policyAttacks() []attack {
	policies := func(name, rejected string, list func() []byte) attack {
		return on(clusterMessage, "c")(name, rejected, func() []byte { return append(edsCluster("c"), wire.Field(41, list())...) })
	}
	roundRobin := lbPolicy(&roundrobinv3.RoundRobin{})
	return []attack{
		policies("LB policies nested too deeply", "must not nest more than", func() []byte {
			list := roundRobin
			for range 1000 {
				list = lbPolicy(&wrrlocalityv3.WrrLocality{}, wire.Field(1, list))
			}
			return list
		}),
		policies("empty LB policies", "must be set", func() []byte {
			return append(wire.Fill(wire.Usual, func(int) []byte { return wire.Field(1) }), roundRobin...)
		}),
		policies("empty LB policies in another one", "must be set", func() []byte {
			return lbPolicy(&wrrlocalityv3.WrrLocality{}, wire.Field(1, append(wire.Fill(wire.Usual, func(int) []byte { return wire.Field(1) }), roundRobin...)))
		}),
		policies("LB policies of unknown types", "", func() []byte {
			return append(wire.Fill(wire.Usual, func(i int) []byte {
				return wire.Field(1, wire.Field(4, wire.Text(1, "x"), wire.Field(2, wire.Text(1, fmt.Sprintf("%sx.Policy%x", typeURLPrefix, i)))))
			}), roundRobin...)
		}),
	}
}

// lbPolicy is a policy in a LoadBalancingPolicy.
func lbPolicy(config proto.Message, fields ...[]byte) []byte {
	return wire.Field(1, wire.Field(4, wire.Text(1, "p"), wire.Field(2, anyOf(config, fields...))))
}

// listAttacks are attacks by list collections.
func listAttacks() []attack {
	const listMessage, list = "envoy.config.cluster.v3.ClusterCollection", "xdstp:///envoy.config.cluster.v3.ClusterCollection/l"
	attackOf := func(name, rejected string, body func() []byte) attack {
		return attack{
			name: name, rejected: rejected, watches: []Watch{{Message: clusterMessage, Name: list, Collection: true}},
			run: func(ctx context.Context, s *scene) error {
				// The message around a list collection names it.
				inner := append(wire.Text(1, typeURLPrefix+listMessage), wire.Field(2, body())...)
				resp := &discoveryv3.DiscoveryResponse{TypeUrl: typeURLPrefix + listMessage, Resources: []*anypb.Any{{
					TypeUrl: typeURLPrefix + "envoy.service.discovery.v3.Resource", Value: append(wire.Text(3, list), wire.Field(2, inner)...),
				}}}
				return s.respond(ctx, resp)
			},
		}
	}
	entry := func(i int, cluster []byte) []byte {
		return wire.Field(1, wire.Field(2, wire.Text(1, fmt.Sprintf("%x", i)), wire.Field(3, wire.Text(1, typeURLPrefix+clusterMessage), wire.Field(2, cluster))))
	}
	member := unnamedCluster()
	return []attack{
		attackOf("empty entries of a list", "must have", func() []byte { return wire.Fill(wire.Usual, func(int) []byte { return wire.Field(1) }) }),
		attackOf("inlined members", "", func() []byte { return wire.Fill(wire.Usual, func(i int) []byte { return entry(i, member) }) }),
		attackOf("inlined members that are invalid", "must", func() []byte { return wire.Fill(wire.Usual, func(i int) []byte { return entry(i, nil) }) }),
		attackOf("inlined members with metadata", "decode limit", func() []byte {
			more := append(slices.Clone(member), clusterMetadata(4)...)
			return wire.Fill(64<<20, func(i int) []byte { return entry(i, more) })
		}).large(64 << 20),
		attackOf("largest: inlined members", "decode limit", func() []byte {
			return wire.Fill(largest-1<<20, func(i int) []byte { return entry(i, member) })
		}).large(largest),
		attackOf("located members", "", func() []byte {
			return wire.Fill(wire.Usual, func(i int) []byte {
				return wire.Field(1, wire.Encode(&xdscorev3.CollectionEntry{ResourceSpecifier: &xdscorev3.CollectionEntry_Locator{Locator: &xdscorev3.ResourceLocator{
					Scheme: xdscorev3.ResourceLocator_XDSTP, ResourceType: clusterMessage, Id: fmt.Sprintf("m/%x", i),
				}}}))
			})
		}),
	}
}

// unnamedCluster is a Cluster whose list collection names it.
func unnamedCluster() []byte {
	c := beat.Cluster(beat.Name, "s")
	c.Name = ""
	return wire.Encode(c)
}
