package serve

import (
	"context"
	"maps"
	"slices"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	loadstatsv3 "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xdsforge/xdsforge/internal/adsserver"
	"github.com/xdsforge/xdsforge/internal/adsserver/adsgrpc"
)

// A LoadReport is the load that a client has had since its last report.
type LoadReport struct {
	Node     *corev3.Node // of the stream's first report; nil if the client sends none
	Identity Identity
	Address  string // of the network
	Client   string // identifies the client to which [Limits] apply: an identity, an address, or a network of IPv6
	Clusters []*endpointv3.ClusterStats
	// Stream is the same for all reports of a stream, and ends with it.
	Stream context.Context //nolint:containedctx // identifies the stream
}

// loadService implements the load reporting service.
type loadService struct {
	loadstatsv3.UnimplementedLoadReportingServiceServer
	server *Server
}

// StreamLoadStats implements [loadstatsv3.LoadReportingServiceServer].
func (l loadService) StreamLoadStats(stream loadstatsv3.LoadReportingService_StreamLoadStatsServer) error {
	g, err := l.server.admit(stream.Context())
	if err != nil {
		l.server.countEnd(l.server.settings.limits.clientOf(identify(stream.Context())), err)
		return adsgrpc.Status(err)
	}
	ctx, cancel := context.WithCancelCause(g.ctx)
	go func() { cancel(l.receive(stream, g)) }()
	<-ctx.Done()
	err = context.Cause(ctx)
	g.Leave(err)
	return adsgrpc.Status(err)
}

// allClusters is the feature of clients that can report clusters without a list of them.
const allClusters = "envoy.lrs.supports_send_all_clusters"

// receive receives the reports of a stream until it ends, and returns why. Between two reports it keeps only the encoded node,
// which is charged to the client: a decoded message can be many times as large.
func (l loadService) receive(stream loadstatsv3.LoadReportingService_StreamLoadStatsServer, g *guest) error {
	var node []byte
	defer func() { _ = g.account.budget.Charge(-len(node)) }() // within the limits
	for first := true; ; first = false {
		var answer *loadstatsv3.LoadStatsResponse
		err := adsgrpc.Receive(stream, func(raw []byte) error {
			g.first.Stop()
			if first {
				own := adsserver.NodeOf(raw, true) // the field has the same number
				if err := l.server.settings.limits.node(own); err != nil {
					return err
				}
				node = slices.Clone(own)
				if err := g.account.budget.Charge(len(node)); err != nil {
					return err
				}
			}
			r, err := l.report(g, raw, node)
			if first && err == nil {
				answer = l.answer(r)
			}
			return err
		})
		if answer != nil {
			err = stream.Send(answer)
		}
		if err != nil {
			return err
		}
	}
}

// report decodes and counts a report, and passes it on.
func (l loadService) report(g *guest, raw, node []byte) (*loadstatsv3.LoadStatsRequest, error) {
	report := LoadReport{Identity: g.identity, Address: g.address, Client: g.client, Stream: g.ctx}
	var r *loadstatsv3.LoadStatsRequest
	var err error
	g.account.budget.Turn(func() { // a client has at most one decoded report
		if r, err = g.decodeLoad(raw); err == nil && len(r.GetClusterStats()) > 0 {
			report.Node, err = decodeNode(node)
		}
		if report.Clusters = r.GetClusterStats(); err != nil || len(report.Clusters) == 0 {
			return
		}
		l.server.loads.add(g.client, report.Clusters, &l.server.settings.limits, time.Now())
		l.server.settings.load(report)
	})
	return r, err
}

// answer asks a client for the load of all clusters. A client that cannot report all is asked for those
// of its first report.
func (l loadService) answer(first *loadstatsv3.LoadStatsRequest) *loadstatsv3.LoadStatsResponse {
	out := &loadstatsv3.LoadStatsResponse{LoadReportingInterval: durationpb.New(l.server.settings.interval)}
	if slices.Contains(first.GetNode().GetClientFeatures(), allClusters) {
		out.SendAllClusters = true
		return out
	}
	names := make(map[string]bool)
	for _, c := range first.GetClusterStats() {
		names[c.GetClusterName()] = true
	}
	out.Clusters = slices.Sorted(maps.Keys(names))
	return out
}
