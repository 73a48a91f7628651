package serve

import (
	"fmt"
	"time"

	loadstatsv3 "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/internal/adsserver"
)

// Fields of load reports whose elements are messages.
const (
	loadClusters      = 2 // of a LoadStatsRequest
	loadLocalities    = 2 // of a cluster
	loadDrops         = 5
	loadMetrics       = 5 // of a locality
	loadEndpoints     = 7
	bytesOfAnEndpoint = 16 // of its content, for each further element that it counts as
)

// decodeLoad decodes a load report that is within the limits. An empty message takes two bytes in a request and more than a
// hundred in memory, so the limits apply before decoding.
func (g *guest) decodeLoad(raw []byte) (*loadstatsv3.LoadStatsRequest, error) {
	limits := &g.server.settings.limits
	if err := g.meter.request(len(raw), limits, time.Now()); err != nil {
		return nil, err
	}
	if err := limits.node(adsserver.NodeOf(raw, true)); err != nil { // the field has the same number
		return nil, err
	}
	clusters, elements, err := elementsOf(raw)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", adsserver.ErrMalformed, err)
	case clusters > limits.LoadClusters:
		return nil, &adsserver.LimitError{Limit: "clusters of a load report", Value: clusters, Max: limits.LoadClusters, Option: "Limits.LoadClusters"}
	case elements > limits.LoadElements:
		return nil, &adsserver.LimitError{Limit: "elements of a load report", Value: elements, Max: limits.LoadElements, Option: "Limits.LoadElements"}
	}
	r := new(loadstatsv3.LoadStatsRequest)
	if err := proto.Unmarshal(raw, r); err != nil {
		return nil, fmt.Errorf("%w: %w", adsserver.ErrMalformed, err)
	}
	for _, c := range r.GetClusterStats() {
		if n := max(len(c.GetClusterName()), len(c.GetClusterServiceName())); n > limits.NameBytes {
			return nil, &adsserver.LimitError{Limit: "length of a name in a load report", Value: n, Max: limits.NameBytes, Option: "Limits.NameBytes"}
		}
	}
	return r, nil
}

// elementsOf counts the clusters of an encoded report, and all other messages in its lists.
func elementsOf(raw []byte) (clusters, elements int, err error) {
	locality := func(number protowire.Number, v []byte) error { //nolint:unparam // as Fields wants it
		switch number { //nolint:exhaustive // a message has few fields
		case loadMetrics:
			elements++
		case loadEndpoints:
			elements += 1 + len(v)/bytesOfAnEndpoint
		}
		return nil
	}
	cluster := func(number protowire.Number, v []byte) error {
		switch number { //nolint:exhaustive // a message has few fields
		case loadDrops:
			elements++
		case loadLocalities:
			elements++
			return adsserver.Fields(v, locality)
		}
		return nil
	}
	err = adsserver.Fields(raw, func(number protowire.Number, v []byte) error {
		if number != loadClusters {
			return nil
		}
		clusters++
		return adsserver.Fields(v, cluster)
	})
	return clusters, elements, err
}

// node checks the size of an encoded node before it is decoded.
func (l *Limits) node(raw []byte) error {
	if len(raw) > l.NodeBytes {
		return &adsserver.LimitError{Limit: "bytes of the node", Value: len(raw), Max: l.NodeBytes, Option: "Limits.NodeBytes"}
	}
	return nil
}
