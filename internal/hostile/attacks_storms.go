package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"github.com/xdsforge/xdsforge/internal/hostile/wire"
)

// stormTime is how long a storm lasts.
const stormTime = 5 * time.Second

// stormCPU is the processor time that a storm may take, of a client that spends a fifth
// of one processor on content that comes again.
const stormCPU = 2 * time.Second

// stormAttacks are attacks by control planes that send again and again.
func stormAttacks() []attack {
	watched := []Watch{{Message: clusterMessage, Name: "c"}}
	// Each content has 1,000 clusters, and an invalid one that is watched.
	content := func(i int) [][]byte {
		list := make([][]byte, 0, 1001)
		list = append(list, append(wire.Text(1, "c"), wire.Field(2, fmt.Appendf(nil, "%d", i))...))
		for k := range 1000 {
			list = append(list, edsCluster(fmt.Sprintf("unasked-%d", k)))
		}
		return list
	}
	same := func(int) [][]byte { return content(0) }
	seven := func(i int) [][]byte { return content(i % 7) }
	storms := []attack{
		{name: "storm: the same after each NACK", run: storm(same)},
		{name: "storm: seven contents in turn", run: storm(seven)},
		{name: "storm: other content after each NACK", run: storm(content)},
		{name: "storm: the same without waiting", run: flood(same)},
		{name: "storm: other content without waiting", run: flood(content)},
	}
	for i := range storms {
		storms[i].watches, storms[i].cpu, storms[i].rejected = watched, stormCPU, "must be set"
	}
	return storms
}

// storm sends content with a number as soon as the one before is answered.
func storm(content func(i int) [][]byte) func(context.Context, *scene) error {
	return func(ctx context.Context, s *scene) error {
		brief, cancel := context.WithTimeout(ctx, stormTime)
		defer cancel()
		for i := 0; ; i++ {
			switch err := s.send(brief, clusterMessage, content(i)...); {
			case ctx.Err() != nil:
				return ctx.Err()
			case brief.Err() != nil:
				return nil
			case err != nil:
				return err
			}
		}
	}
}

// flood sends content with a number as fast as the client reads.
func flood(content func(i int) [][]byte) func(context.Context, *scene) error {
	return func(ctx context.Context, s *scene) error {
		if err := s.send(ctx, clusterMessage, content(0)...); err != nil {
			return err
		}
		stop, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			s.drain(stop)
		}()
		var err error
		for i, began := 1, time.Now(); err == nil && time.Since(began) < stormTime; i++ {
			err = s.post(response(clusterMessage, content(i)...))
		}
		close(stop)
		<-ended
		return err
	}
}

// drain reads requests until it is stopped.
func (s *scene) drain(stop <-chan struct{}) {
	for {
		select {
		case <-s.requests:
		case <-stop:
			return
		}
	}
}

// compressedAttacks are attacks by responses that gzip makes small.
func compressedAttacks() []attack {
	watched := []Watch{{Message: clusterMessage, Name: "c"}}
	zeros := func(size int) *discoveryv3.DiscoveryResponse {
		return response(clusterMessage, append(edsCluster("c"), wire.Field(1000, make([]byte, size))...))
	}
	return []attack{
		attack{name: "compressed: the largest", watches: watched, compress: true, run: func(ctx context.Context, s *scene) error {
			return s.respond(ctx, zeros(largest-1<<20))
		}}.large(largest),
		attack{name: "compressed: larger than the largest", watches: watched, compress: true, run: func(ctx context.Context, s *scene) error {
			if err := s.post(zeros(3 * largest / 2)); err != nil {
				return err
			}
			// The client ends the stream and begins another one.
			if _, err := s.until(ctx, "request on a new stream", func(r request) bool { return r.nonce == "" && slices.Contains(r.names, "c") }); err != nil {
				return err
			}
			return s.send(ctx, clusterMessage, edsCluster("c"))
		}}.large(largest),
	}
}
