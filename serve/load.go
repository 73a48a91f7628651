package serve

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"
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
	Clusters []*endpointv3.ClusterStats
	// Stream is the same for all reports of a stream, and ends with it.
	Stream context.Context //nolint:containedctx // identifies the stream
}

// A LoadTotal is the load of a cluster in all reports of all clients so far.
type LoadTotal struct {
	// Cluster is the name of the cluster, and Service that of its EDS resource, if the clients send it.
	// Both are empty for all clusters beyond Limits.LoadClusters.
	Cluster, Service string
	// Started, Succeeded and Failed are calls to endpoints. Clients drop the Dropped calls.
	Started, Succeeded, Failed, Dropped uint64
}

// Load returns the totals of all clusters with load, in the order of their names.
func (s *Server) Load() []LoadTotal {
	s.loads.mu.Lock()
	defer s.loads.mu.Unlock()
	list := make([]LoadTotal, 0, len(s.loads.totals))
	for _, t := range s.loads.totals {
		list = append(list, *t)
	}
	slices.SortFunc(list, func(a, b LoadTotal) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Service, b.Service))
	})
	return list
}

// loads has the totals. The zero loads is empty.
type loads struct {
	mu     sync.Mutex
	totals map[[2]string]*LoadTotal
}

// add adds a report to the totals.
func (l *loads) add(clusters []*endpointv3.ClusterStats, limit int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.totals == nil {
		l.totals = make(map[[2]string]*LoadTotal)
	}
	for _, c := range clusters {
		key := [2]string{c.GetClusterName(), c.GetClusterServiceName()}
		if l.totals[key] == nil && len(l.totals) >= limit {
			key = [2]string{}
		}
		t := l.totals[key]
		if t == nil {
			t = &LoadTotal{Cluster: key[0], Service: key[1]}
			l.totals[key] = t
		}
		for _, x := range c.GetUpstreamLocalityStats() {
			t.Started += x.GetTotalIssuedRequests()
			t.Succeeded += x.GetTotalSuccessfulRequests()
			t.Failed += x.GetTotalErrorRequests()
		}
		t.Dropped += c.GetTotalDroppedRequests()
	}
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
		l.server.countEnd(clientOf(identify(stream.Context())), err)
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
	limits := &l.server.settings.limits
	report := LoadReport{Identity: g.identity, Address: g.address, Stream: g.ctx}
	for first := true; ; first = false {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return io.EOF
		}
		if err == nil {
			err = g.meter.request(proto.Size(r), limits, time.Now())
		}
		if err == nil {
			err = checkLoad(r, limits)
		}
		if err == nil && first {
			report.Node = r.GetNode()
			err = stream.Send(l.answer(r))
		}
		if err != nil {
			return err
		}
		if report.Clusters = r.GetClusterStats(); len(report.Clusters) > 0 {
			l.server.loads.add(report.Clusters, limits.LoadClusters)
			l.server.settings.load(report)
		}
	}
}

// checkLoad checks the number of clusters of a report, and the lengths of their names, which the totals keep.
func checkLoad(r *loadstatsv3.LoadStatsRequest, limits *Limits) error {
	if n := len(r.GetClusterStats()); n > limits.LoadClusters {
		return &adsserver.LimitError{Limit: "clusters of a load report", Value: n, Max: limits.LoadClusters, Option: "Limits.LoadClusters"}
	}
	for _, c := range r.GetClusterStats() {
		if n := max(len(c.GetClusterName()), len(c.GetClusterServiceName())); n > limits.NameBytes {
			return &adsserver.LimitError{Limit: "length of a name in a load report", Value: n, Max: limits.NameBytes, Option: "Limits.NameBytes"}
		}
	}
	return nil
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
