package serve

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/adsserver"
	"github.com/xdsforge/xdsforge/internal/partial"
)

// errDraining ends the streams of a server that is drained.
var errDraining = errors.New("serve: the server is draining")

// Drain refuses new streams and ends the open ones, one after the other within the spread of time. The
// clients reconnect to other servers, which receive them evenly. Drain returns when all streams have
// ended, those of clients that do not read among them. If ctx ends earlier, Drain ends the remaining streams at once and returns the
// cause. The server cannot be used afterwards; close it.
func (s *Server) Drain(ctx context.Context, spread time.Duration) error {
	guests := s.stop(errDraining)
	s.settings.journal.draining(len(guests), spread)
	rand.Shuffle(len(guests), func(a, b int) { guests[a], guests[b] = guests[b], guests[a] })
	start := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var err error
	for i, g := range guests {
		timer.Reset(time.Until(start.Add(spread * time.Duration(i) / time.Duration(len(guests)))))
		if err == nil {
			select {
			case <-timer.C:
			case <-ctx.Done():
				err = fmt.Errorf("serve: drain: %w", context.Cause(ctx))
			}
		}
		g.cancel(errDraining)
	}
	for err == nil {
		open, left := s.open()
		if open == 0 {
			break
		}
		select {
		case <-left:
		case <-ctx.Done():
			err = fmt.Errorf("serve: drain: %w", context.Cause(ctx))
		}
	}
	if err == nil {
		s.settings.journal.drained()
	}
	return err
}

// open returns the number of streams, and a channel that is closed when one of them leaves.
func (s *Server) open() (streams int, left <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.guests), s.left
}

// Healthy returns nil if clients should use the server, and otherwise the reason not to: the server is
// draining or closed, or a source has no resources yet or is too old for [WithMaxStaleness].
func (s *Server) Healthy() error {
	s.mu.Lock()
	refuse := s.refuse
	s.mu.Unlock()
	if refuse != nil {
		return refuse
	}
	for _, c := range s.cores() {
		for _, f := range c.Feeds() {
			switch {
			case f.State.Kind == 0:
				return fmt.Errorf("serve: the source of authority %q has not reported a state", f.Authority)
			case f.State.Kind == source.Down && f.Epoch == "":
				return fmt.Errorf("serve: the source of authority %q has no resources: %v", f.Authority, f.State)
			case f.Expired:
				return fmt.Errorf("serve: the source of authority %q: %v for longer than WithMaxStaleness", f.Authority, f.State)
			}
		}
	}
	return nil
}

// Ready returns nil if the server is [Server.Healthy] and its sources know all of their resources. Otherwise it returns the
// reason, such as a file of a folder that cannot be read and has no valid version in the state directory. Such a server
// answers for the resources that it knows, and reports others as unavailable.
func (s *Server) Ready() error {
	if err := s.Healthy(); err != nil {
		return err
	}
	for _, c := range s.cores() {
		for _, f := range c.Feeds() {
			if partial.Is(f.State) {
				return fmt.Errorf("serve: the source of authority %q: %v", f.Authority, f.State)
			}
		}
	}
	return nil
}

// services are the names under which the health service reports the server.
func services() []string {
	return []string{"", "envoy.service.discovery.v3.AggregatedDiscoveryService"}
}

// RegisterHealth registers the health service of gRPC, which reports whether the server is [Server.Healthy].
// It must be called once, and only if the gRPC server has no health service yet.
func (s *Server) RegisterHealth(r grpc.ServiceRegistrar) {
	h := health.NewServer()
	s.mu.Lock()
	s.health = h
	s.mu.Unlock()
	s.updateHealth()
	grpc_health_v1.RegisterHealthServer(r, h)
}

// changed follows a change of the state of a source.
func (s *Server) changed() {
	s.updateHealth()
	if s.settings.journal != nil {
		s.settings.journal.sources(func() []sourceStatus { return s.sources(time.Now()) })
	}
}

// updateHealth passes the state to the health service.
func (s *Server) updateHealth() {
	s.mu.Lock()
	h := s.health
	s.mu.Unlock()
	if h == nil {
		return
	}
	s.healthMu.Lock() // two updates must not overtake each other
	defer s.healthMu.Unlock()
	state := grpc_health_v1.HealthCheckResponse_SERVING
	if s.Healthy() != nil {
		state = grpc_health_v1.HealthCheckResponse_NOT_SERVING
	}
	for _, name := range services() {
		h.SetServingStatus(name, state)
	}
}

// countEnd counts and logs the streams that the server ends or refuses, by reason.
func (s *Server) countEnd(client string, err error) {
	var limit *adsserver.LimitError
	var stale *adsserver.StaleError
	var silent silentError
	var reason string
	switch {
	case errors.As(err, &limit):
		reason = limit.Option
	case errors.As(err, &silent):
		reason = "Limits.FirstRequest"
	case errors.Is(err, adsserver.ErrDenied):
		reason = "permission"
	case errors.Is(err, adsserver.ErrMalformed):
		reason = "malformed"
	case errors.Is(err, errDraining):
		reason = "drain"
	case errors.As(err, &stale):
		reason = "staleness"
	default:
		return
	}
	s.mu.Lock()
	s.refused[reason]++
	s.mu.Unlock()
	if reason != "drain" {
		s.settings.journal.ended(client, reason, err)
	}
}
