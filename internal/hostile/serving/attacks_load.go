package main

import (
	"fmt"
	"math"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsforge/xdsforge/internal/adsserver"
	"github.com/xdsforge/xdsforge/internal/hostile/wire"
)

// Fields of a LoadStatsRequest and of its messages.
const (
	loadNode, loadStats                              = 1, 2
	statsName, statsLocalities, statsTotal           = 1, 2, 3
	statsDropped, statsService                       = 5, 6
	localityID, localityMetrics, localityIssued      = 1, 5, 8
	localityEndpoints                                = 7
	metricName, metricCount, metricValue             = 1, 2, 3
	localityRegion, droppedCategory, droppedRequests = 1, 1, 2
)

// The parts of the budget of a client that load reports can use. One report of a client is decoded at a time. Tests measure the
// memory of each element, cluster and locality.
const (
	element = 512                                // of a decoded report
	report  = 2*request + 100_000*element        // its texts, encoded and decoded, and Limits.LoadElements
	totals  = 16<<20 + 10_000*adsserver.NameCost // Limits.TotalBytes, and Limits.LoadClusters
	load    = totals + report + request          // and the next report, which gRPC receives meanwhile
	relayed = 16<<20 + 10_000*1280 + 100_000*640 // names, clusters and localities of a stream of a relay
)

// loadAttacks are attacks by load reports, to a server and to a relay that passes them on.
func loadAttacks() (list []attack) {
	for _, s := range []scene{{clusters: 10, load: true}, {relayed: true, load: true}} {
		kind := "load"
		if s.relayed {
			kind = "relayed load"
		}
		list = append(list, loadAttacksOf(kind, s)...)
	}
	return list
}

// reportOf returns the report of a cluster.
func reportOf(name string, fields ...[]byte) []byte {
	return wire.Field(loadStats, wire.Text(statsName, name), join(fields...))
}

// number is a varint field.
func number(field protowire.Number, n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, field, protowire.VarintType), n)
}

func loadAttacksOf(kind string, s scene) []attack {
	budget := int64(load)
	if s.relayed {
		budget += relayed
	}
	filled := func(element func(i int) []byte) func() [][]byte {
		return func() [][]byte { return [][]byte{reportOf("c", wire.Fill(wire.Usual-1<<10, element))} }
	}
	return []attack{
		sends(kind+": 10,000 clusters", s, budget, "", reports, func() [][]byte {
			return [][]byte{wire.Repeated(10_000, func(i int) []byte { return reportOf(fmt.Sprint(i)) })}
		}),
		sends(kind+": more than 10,000 clusters", s, budget, "Limits.LoadClusters", reports, func() [][]byte {
			return [][]byte{wire.Repeated(10_001, func(i int) []byte { return reportOf(fmt.Sprint(i)) })}
		}),
		sends(kind+": other clusters in each of 50 reports", s, budget, "", reports, func() (list [][]byte) {
			for k := range 50 {
				list = append(list, wire.Repeated(10_000, func(i int) []byte { return reportOf(fmt.Sprint(k, "-", i)) }))
			}
			return list
		}),
		sends(kind+": names of 16,000 bytes in each of 15 reports", s, budget, "", reports, func() (list [][]byte) {
			for k := range 15 {
				list = append(list, wire.Repeated(250, func(i int) []byte {
					return reportOf(fmt.Sprintf("%08000d", k*250+i), wire.Text(statsService, strings.Repeat("y", 8000)))
				}))
			}
			return list
		}),
		sends(kind+": 4 MiB of localities", s, budget, "Limits.LoadElements", reports, filled(func(i int) []byte {
			return wire.Field(statsLocalities, wire.Field(localityID, wire.Text(localityRegion, fmt.Sprint(i))), number(localityIssued, 1))
		})),
		sends(kind+": 4 MiB of localities without content", s, budget, "Limits.LoadElements", reports, filled(func(int) []byte { return wire.Field(statsLocalities) })),
		sends(kind+": 4 MiB of categories of drops", s, budget, "Limits.LoadElements", reports, filled(func(i int) []byte {
			return wire.Field(statsDropped, wire.Text(droppedCategory, fmt.Sprint(i)), number(droppedRequests, 1))
		})),
		sends(kind+": 4 MiB of metrics", s, budget, "Limits.LoadElements", reports, func() [][]byte {
			return [][]byte{reportOf("c", wire.Field(statsLocalities, wire.Fill(wire.Usual-1<<10, func(i int) []byte {
				return wire.Field(localityMetrics, wire.Text(metricName, fmt.Sprint(i)), number(metricCount, 1))
			})))}
		}),
		sends(kind+": 4 MiB of endpoints", s, budget, "Limits.LoadElements", reports, func() [][]byte {
			return [][]byte{reportOf("c", wire.Field(statsLocalities, wire.Fill(wire.Usual-1<<10, func(int) []byte { return wire.Field(localityEndpoints) })))}
		}),
		sends(kind+": sums that overflow", s, budget, "", reports, func() [][]byte {
			m := reportOf("c", wire.Field(statsLocalities, number(localityIssued, math.MaxUint64)), number(statsTotal, math.MaxUint64))
			return turns(100, m)
		}),
		sends(kind+": a node of 4 MiB", s, budget, "Limits.NodeBytes", reports, func() [][]byte {
			return [][]byte{join(wire.Field(loadNode, wire.Text(1, text())), reportOf("c"))}
		}),
		sends(kind+": 5,000 clusters of unknown authorities in each of 50 reports", s, budget, "", reports, func() (list [][]byte) {
			for k := range 50 {
				list = append(list, wire.Repeated(5000, func(i int) []byte {
					return reportOf(fmt.Sprintf("xdstp://authority-%d-%d/envoy.config.cluster.v3.Cluster/c", k, i))
				}))
			}
			return list
		}),
		sends(kind+": 100,000 localities with all metrics", s, budget, "", reports, func() [][]byte {
			return [][]byte{reportOf("c", wire.Repeated(99_000, func(i int) []byte {
				return wire.Field(statsLocalities, wire.Field(localityID, wire.Text(localityRegion, fmt.Sprint(i))), wire.Field(12), wire.Field(13), wire.Field(14))
			}))}
		}),
		{name: kind + ": 200 streams of 2,000 clusters each", scene: s, budget: budget + 200*streamMemory, run: func(a *attacker) error {
			messages := make([][]byte, 0, 200)
			for k := range 200 {
				messages = append(messages, wire.Repeated(2000, func(i int) []byte { return reportOf(fmt.Sprint(k, "-", i)) }))
			}
			a.begin()
			for _, m := range messages {
				c, err := a.open(reports)
				if err != nil {
					return err
				}
				c.read()
				c.send(m)
			}
			return settle()
		}},
		{name: kind + ": 2,000 streams without a report", scene: s, budget: 2000 * streamMemory, ends: "FirstRequest", run: func(a *attacker) error {
			a.begin()
			return a.openMany(2000, reports, nil, 12*settling)
		}},
	}
}
