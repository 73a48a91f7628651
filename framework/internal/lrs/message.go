package lrs

import (
	"fmt"
	"time"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xdsforge/xdsforge/framework/load"
)

// Method is the method of LRS streams.
const Method = "/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats"

// ClientFeature is the node's feature that lets servers ask for all clusters.
const ClientFeature = "envoy.lrs.supports_send_all_clusters"

// Field numbers of envoy.service.load_stats.v3.LoadStatsRequest and LoadStatsResponse,
// whose Go package would make this one depend on gRPC.
const (
	requestNode         = 1
	requestClusterStats = 2

	responseClusters = 1
	responseInterval = 2
	responseAll      = 4
)

// EncodeRequest returns an encoded LoadStatsRequest: a stream's first has the node,
// those after it have stats.
func EncodeRequest(node []byte, stats []*endpointv3.ClusterStats) ([]byte, error) {
	var b []byte
	if node != nil {
		b = protowire.AppendTag(b, requestNode, protowire.BytesType)
		b = protowire.AppendBytes(b, node)
	}
	for _, s := range stats {
		b = protowire.AppendTag(b, requestClusterStats, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(proto.Size(s))) //nolint:gosec // sizes are positive
		var err error
		if b, err = (proto.MarshalOptions{UseCachedSize: true}).MarshalAppend(b, s); err != nil {
			return nil, fmt.Errorf("lrs: encoding the load of cluster %q: %w", s.GetClusterName(), err)
		}
	}
	return b, nil
}

// Instructions are a server's wishes for reports. Endpoint granularity is not supported, as in gRFC
// A27.
type Instructions struct {
	load.ClusterFilter
	// Interval is the time between reports in the response. It is zero if it is missing or invalid.
	Interval time.Duration
	// Ignored is the number of names beyond MaxClusters.
	Ignored int
}

// MaxClusters is the limit of the clusters that a server can list. Names beyond it are
// ignored.
const MaxClusters = 1 << 20

// ParseResponse reads a LoadStatsResponse.
func ParseResponse(msg []byte) (Instructions, error) {
	var in Instructions
	for len(msg) > 0 {
		number, kind, n := protowire.ConsumeTag(msg)
		if n < 0 {
			return Instructions{}, unparseable(protowire.ParseError(n))
		}
		msg = msg[n:]
		if n = protowire.ConsumeFieldValue(number, kind, msg); n < 0 {
			return Instructions{}, unparseable(protowire.ParseError(n))
		}
		if err := in.field(number, kind, msg[:n]); err != nil {
			return Instructions{}, unparseable(err)
		}
		msg = msg[n:]
	}
	return in, nil
}

func unparseable(err error) error { return fmt.Errorf("lrs: not a LoadStatsResponse: %w", err) }

func (in *Instructions) field(number protowire.Number, kind protowire.Type, value []byte) error {
	switch {
	case number == responseAll && kind == protowire.VarintType:
		v, _ := protowire.ConsumeVarint(value)
		in.All = v != 0
	case number == responseClusters && kind == protowire.BytesType:
		name, _ := protowire.ConsumeBytes(value)
		in.cluster(name)
	case number == responseInterval && kind == protowire.BytesType:
		raw, _ := protowire.ConsumeBytes(value)
		d := new(durationpb.Duration)
		if err := proto.Unmarshal(raw, d); err != nil {
			return err
		}
		if d.IsValid() {
			in.Interval = d.AsDuration()
		}
	}
	return nil
}

// cluster adds a name to the filter.
func (in *Instructions) cluster(name []byte) {
	if _, twice := in.Clusters[string(name)]; twice {
		return
	}
	if len(in.Clusters) == MaxClusters {
		in.Ignored++
		return
	}
	if in.Clusters == nil {
		in.Clusters = make(map[string]struct{})
	}
	in.Clusters[string(name)] = struct{}{}
}
