// Package fakelrs is a load reporting server for tests. It uses go-control-plane's
// generated service and keeps the received reports.
package fakelrs

import (
	"context"
	"slices"
	"sync"
	"time"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	lrsv3 "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// A Server takes load reports. Its methods may be called from any goroutine.
type Server struct {
	lrsv3.UnimplementedLoadReportingServiceServer

	mu           sync.Mutex
	instructions *lrsv3.LoadStatsResponse
	reports      []Report
	opened       int
	streams      map[int]chan struct{} // those that are open; closed to end one
	changed      chan struct{}         // closed and replaced when anything has changed
}

// A Report is a received message.
type Report struct {
	Stream  int // counted from 1
	At      time.Time
	Message *lrsv3.LoadStatsRequest
}

// New returns a server that requests reports on all clusters at an interval.
func New(interval time.Duration) *Server {
	s := &Server{streams: make(map[int]chan struct{}), changed: make(chan struct{})}
	s.Instruct(interval)
	return s
}

// Register adds the service to a gRPC server.
func (s *Server) Register(g *grpc.Server) { lrsv3.RegisterLoadReportingServiceServer(g, s) }

// Option adds the service to a gRPC server whose services cannot be added to.
func (s *Server) Option() grpc.ServerOption {
	return grpc.UnknownServiceHandler(func(_ any, ss grpc.ServerStream) error {
		if method, _ := grpc.MethodFromServerStream(ss); method != lrsv3.LoadReportingService_StreamLoadStats_FullMethodName {
			return status.Errorf(codes.Unimplemented, "unknown method %s", method)
		}
		return s.StreamLoadStats(&grpc.GenericServerStream[lrsv3.LoadStatsRequest, lrsv3.LoadStatsResponse]{ServerStream: ss})
	})
}

// Instruct sets the interval and the clusters of the reports, for current and future
// clients. No clusters means all clusters.
func (s *Server) Instruct(interval time.Duration, clusters ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.instructions = &lrsv3.LoadStatsResponse{
		LoadReportingInterval: durationpb.New(interval), Clusters: clusters, SendAllClusters: len(clusters) == 0,
	}
	s.wake()
}

// Disconnect ends all streams with an error.
func (s *Server) Disconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n, end := range s.streams {
		close(end)
		delete(s.streams, n)
	}
	s.wake()
}

func (s *Server) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// StreamLoadStats implements the service.
func (s *Server) StreamLoadStats(stream grpc.BidiStreamingServer[lrsv3.LoadStatsRequest, lrsv3.LoadStatsResponse]) error {
	s.mu.Lock()
	s.opened++
	number, end := s.opened, make(chan struct{})
	s.streams[number] = end
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.streams, number)
	}()

	greeted := make(chan struct{}) // closed with the first message, which brings the node
	received := make(chan error, 1)
	go func() { received <- s.receive(number, stream, greeted) }()
	select {
	case <-greeted:
	case err := <-received:
		return err
	}
	var said *lrsv3.LoadStatsResponse
	for {
		s.mu.Lock()
		next, changed := s.instructions, s.changed
		s.mu.Unlock()
		if next != said {
			if err := stream.Send(next); err != nil {
				return err
			}
			said = next
		}
		select {
		case <-changed:
		case <-end:
			return status.Error(codes.Unavailable, "cut")
		case err := <-received:
			return err
		}
	}
}

func (s *Server) receive(number int, stream grpc.BidiStreamingServer[lrsv3.LoadStatsRequest, lrsv3.LoadStatsResponse], greeted chan<- struct{}) error {
	for first := true; ; first = false {
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.reports = append(s.reports, Report{number, time.Now(), m})
		s.wake()
		s.mu.Unlock()
		if first {
			close(greeted)
		}
	}
}

// Reports returns the messages received so far.
func (s *Server) Reports() []Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.reports)
}

// Streams returns the number of streams opened so far, and the number of open streams.
func (s *Server) Streams() (opened, open int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened, len(s.streams)
}

// Sum adds up the messages.
func Sum(reports []Report) (t Totals) {
	for _, r := range reports {
		t.Add(r.Message.GetClusterStats())
	}
	return t
}

// Totals are counted or reported calls.
type Totals struct{ Issued, Succeeded, Failed, Dropped uint64 }

// Add adds a report.
func (t *Totals) Add(stats []*endpointv3.ClusterStats) {
	for _, c := range stats {
		t.Dropped += c.GetTotalDroppedRequests()
		for _, l := range c.GetUpstreamLocalityStats() {
			t.Issued += l.GetTotalIssuedRequests()
			t.Succeeded += l.GetTotalSuccessfulRequests()
			t.Failed += l.GetTotalErrorRequests()
		}
	}
}

// Await waits until ready accepts the received reports.
func (s *Server) Await(ctx context.Context, ready func([]Report) bool) error {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if ready(s.Reports()) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
