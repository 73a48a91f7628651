package serve

import (
	"context"
	"maps"
	"slices"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	loadstatsv3 "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	"google.golang.org/protobuf/proto"
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

// receive receives the reports of a stream until it ends, and returns why.
func (l loadService) receive(stream loadstatsv3.LoadReportingService_StreamLoadStatsServer, g *guest) error {
	x := reports{loadService: l, guest: g, budget: &g.account.budget}
	defer x.forget()
	for {
		var answer *loadstatsv3.LoadStatsResponse
		err := adsgrpc.Receive(stream, func(raw []byte) error {
			g.first.Stop()
			return x.budget.Hold(len(raw), func() (err error) {
				answer, err = x.handle(raw)
				return err
			})
		})
		if err == nil && answer != nil {
			err = stream.Send(answer)
		}
		if err != nil {
			return err
		}
	}
}

// A reports handles the load reports of a stream. Between two of them it keeps only the encoded node, which is charged to the
// client: a decoded message can be many times as large.
type reports struct {
	loadService
	guest  *guest
	budget *adsserver.Budget
	begun  bool
	node   []byte // of the first report
	unread int    // bytes of the answer, until the client reports again
}

// forget gives back the bytes that the stream was charged.
func (x *reports) forget() {
	_ = x.budget.Charge(-len(x.node) - x.unread)
	x.node, x.unread = nil, 0
}

// handle handles a report, and returns the answer to the first one.
func (x *reports) handle(raw []byte) (*loadstatsv3.LoadStatsResponse, error) {
	_ = x.budget.Charge(-x.unread)
	x.unread = 0
	if x.begun {
		_, err := x.report(raw)
		return nil, err
	}
	x.begun = true
	node := adsserver.NodeOf(raw, true) // the field has the same number
	if err := x.server.settings.limits.node(node); err != nil {
		return nil, err
	}
	x.node = slices.Clone(node)
	if err := x.budget.Charge(len(x.node)); err != nil {
		return nil, err
	}
	r, err := x.report(raw)
	if err != nil {
		return nil, err
	}
	answer := x.answer(r)
	x.unread = 2 * proto.Size(answer) // with its encoding
	return answer, x.budget.Charge(x.unread)
}

// report decodes and counts a report, and passes it on.
func (x *reports) report(raw []byte) (*loadstatsv3.LoadStatsRequest, error) {
	g := x.guest
	report := LoadReport{Identity: g.identity, Address: g.address, Client: g.client, Stream: g.ctx}
	var r *loadstatsv3.LoadStatsRequest
	var err error
	x.budget.Turn(func() { // a client has at most one decoded report
		if r, err = g.decodeLoad(raw); err == nil && len(r.GetClusterStats()) > 0 {
			report.Node, err = decodeNode(x.node)
		}
		if report.Clusters = r.GetClusterStats(); err != nil || len(report.Clusters) == 0 {
			return
		}
		x.server.loads.add(g.client, report.Clusters, &x.server.settings.limits, time.Now())
		x.server.settings.load(report)
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
