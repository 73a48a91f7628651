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
)

// ruleAttacks are attacks by the principals of RBAC filters and by header matchers.
func ruleAttacks() []attack {
	principals := func(name, rejected string, list func() []byte) attack {
		return on(listenerMessage, "l")(name, rejected, func() []byte {
			return policyListener(append(field(1, everybody()), list()...))
		})
	}
	headers := func(name, rejected string, list func() []byte) attack {
		return on(routeMessage, "r")(name, rejected, func() []byte { return host(route(append(text(1, ""), list()...))) })
	}
	regexHeader := func(i int) []byte {
		return append(text(1, "h"), field(11, text(2, fmt.Sprintf("%x(a|b)*[a-z]+%s", i, regexTail)))...)
	}
	return []attack{
		principals("deep principals", "", func() []byte { return field(2, nested(90, everybody(), notRule)) }),
		principals("principals nested 3,000 times", "", func() []byte { return field(2, nested(3000, everybody(), notRule)) }),
		principals("invalid principals nested 3,000 times", "decode limit", func() []byte {
			return fill(usual, func(int) []byte { return field(2, nested(3000, field(6), notRule)) })
		}),
		principals("principals nested too deeply", "recursion depth", func() []byte { return field(2, nested(100_000, everybody(), notRule)) }),
		principals("wide principals", "decode limit", func() []byte {
			return field(2, field(2, fill(usual, func(int) []byte { return field(1, everybody()) })))
		}),
		principals("principals up to the limit", "", func() []byte {
			return field(2, field(2, repeated(150_000, func(int) []byte { return field(1, everybody()) })))
		}),
		principals("principals with header matchers", "decode limit", func() []byte {
			return field(2, field(2, fill(usual, func(int) []byte { return field(1, field(6)) })))
		}),
		principals("principals with regexes", "regular expressions", func() []byte {
			return field(2, field(2, fill(usual, func(i int) []byte { return field(1, field(6, regexHeader(i))) })))
		}),
		headers("empty header matchers", "elements", func() []byte { return fill(usual, func(int) []byte { return field(6) }) }),
		headers("header matchers", "", func() []byte {
			return fill(usual, func(i int) []byte { return field(6, text(1, fmt.Sprintf("h%x", i)), []byte{7 << 3, 1}) })
		}),
		headers("header matchers with regexes", "regular expressions", func() []byte {
			return fill(usual, func(i int) []byte { return field(6, regexHeader(i)) })
		}),
	}
}

// policyListener is a Listener of a server without a name that has an RBAC filter. Its policy
// has the encoded fields.
func policyListener(policy []byte) []byte {
	config := anyOf(&rbacv3.RBAC{}, field(1, field(2, text(1, "p"), field(2, policy))))
	return append(socketListener(), field(3, managerFilter(field(5, text(1, "RBAC"), field(4, config))))...)
}

// everybody is a Permission or a Principal that matches all calls: they number such fields
// alike.
func everybody() []byte { return []byte{3 << 3, 1} }

// notRule is the field of a Permission or Principal that negates another.
const notRule = 8

// policyAttacks are attacks by the LB policies of clusters.
func policyAttacks() []attack {
	policies := func(name, rejected string, list func() []byte) attack {
		return on(clusterMessage, "c")(name, rejected, func() []byte { return append(edsCluster("c"), field(41, list())...) })
	}
	roundRobin := lbPolicy(&roundrobinv3.RoundRobin{})
	return []attack{
		policies("LB policies nested too deeply", "must not nest more than", func() []byte {
			list := roundRobin
			for range 1000 {
				list = lbPolicy(&wrrlocalityv3.WrrLocality{}, field(1, list))
			}
			return list
		}),
		policies("empty LB policies", "must be set", func() []byte {
			return append(fill(usual, func(int) []byte { return field(1) }), roundRobin...)
		}),
		policies("empty LB policies in another one", "must be set", func() []byte {
			return lbPolicy(&wrrlocalityv3.WrrLocality{}, field(1, append(fill(usual, func(int) []byte { return field(1) }), roundRobin...)))
		}),
		policies("LB policies of unknown types", "", func() []byte {
			return append(fill(usual, func(i int) []byte {
				return field(1, field(4, text(1, "x"), field(2, text(1, fmt.Sprintf("%sx.Policy%x", typeURLPrefix, i)))))
			}), roundRobin...)
		}),
	}
}

// lbPolicy is a policy in a LoadBalancingPolicy.
func lbPolicy(config proto.Message, fields ...[]byte) []byte {
	return field(1, field(4, text(1, "p"), field(2, anyOf(config, fields...))))
}

// listAttacks are attacks by list collections.
func listAttacks() []attack {
	const listMessage, list = "envoy.config.cluster.v3.ClusterCollection", "xdstp:///envoy.config.cluster.v3.ClusterCollection/l"
	attackOf := func(name, rejected string, body func() []byte) attack {
		return attack{
			name: name, rejected: rejected, watches: []Watch{{Message: clusterMessage, Name: list, Collection: true}},
			run: func(ctx context.Context, s *scene) error {
				// The message around a list collection names it.
				inner := append(text(1, typeURLPrefix+listMessage), field(2, body())...)
				resp := &discoveryv3.DiscoveryResponse{TypeUrl: typeURLPrefix + listMessage, Resources: []*anypb.Any{{
					TypeUrl: typeURLPrefix + "envoy.service.discovery.v3.Resource", Value: append(text(3, list), field(2, inner)...),
				}}}
				return s.respond(ctx, resp)
			},
		}
	}
	entry := func(i int, cluster []byte) []byte {
		return field(1, field(2, text(1, fmt.Sprintf("%x", i)), field(3, text(1, typeURLPrefix+clusterMessage), field(2, cluster))))
	}
	member := unnamedCluster()
	return []attack{
		attackOf("empty entries of a list", "must have", func() []byte { return fill(usual, func(int) []byte { return field(1) }) }),
		attackOf("inlined members", "", func() []byte { return fill(usual, func(i int) []byte { return entry(i, member) }) }),
		attackOf("inlined members that are invalid", "must", func() []byte { return fill(usual, func(i int) []byte { return entry(i, nil) }) }),
		attackOf("inlined members with metadata", "decode limit", func() []byte {
			more := append(slices.Clone(member), clusterMetadata(4)...)
			return fill(64<<20, func(i int) []byte { return entry(i, more) })
		}).large(64 << 20),
		attackOf("largest: inlined members", "decode limit", func() []byte {
			return fill(largest-1<<20, func(i int) []byte { return entry(i, member) })
		}).large(largest),
		attackOf("located members", "", func() []byte {
			return fill(usual, func(i int) []byte {
				return field(1, encoded(&xdscorev3.CollectionEntry{ResourceSpecifier: &xdscorev3.CollectionEntry_Locator{Locator: &xdscorev3.ResourceLocator{
					Scheme: xdscorev3.ResourceLocator_XDSTP, ResourceType: clusterMessage, Id: fmt.Sprintf("m/%x", i),
				}}}))
			})
		}),
	}
}

// unnamedCluster is a Cluster whose list collection names it.
func unnamedCluster() []byte {
	c := beat("s")
	c.Name = ""
	return encoded(c)
}
