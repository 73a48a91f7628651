package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/internal/fakelrs"
	"github.com/xdsforge/xdsforge/internal/hostile/wire"
)

// targetAttacks are attacks by the clusters that a channel of grpcxds leads to, and by the
// clusters that a server wants load reports of.
func targetAttacks() []attack {
	return []attack{
		{name: "aggregates, 15 levels of 8, each naming 8 twice", run: func(ctx context.Context, s *scene) error {
			clusters, all := make([][]byte, 0, 120), make([]string, 0, 120)
			for level := range 15 {
				for i := range 8 {
					name := fmt.Sprintf("l%d-%d", level, i)
					all = append(all, name)
					below := make([]byte, 0, 256)
					for range 2 {
						for j := range 8 {
							below = append(below, wire.Text(1, fmt.Sprintf("l%d-%d", level+1, j))...)
						}
					}
					clusters = append(clusters, aggregate(name, below))
				}
			}
			return s.target(ctx, all, clusters, "")
		}},
		{name: "200,000 aggregated clusters that never come", run: func(ctx context.Context, s *scene) error {
			below := wire.Fill(wire.Usual, func(i int) []byte { return wire.Text(1, fmt.Sprintf("absent-cluster-%d", i)) })
			return s.target(ctx, []string{"all"}, [][]byte{aggregate("all", below)}, "than the limit allows")
		}},
		{name: "4 MiB of clusters to report the load of", run: func(ctx context.Context, s *scene) error {
			var names []string
			for i, size := 0, 0; size < wire.Usual; i++ {
				names = append(names, fmt.Sprintf("c-%d", i))
				size += len(names[i]) + 2
			}
			s.wire += wire.Usual
			s.load.Instruct(time.Second, names...)
			if err := s.child.Call("Count", nil, nil); err != nil {
				return err
			}
			err := s.load.Await(ctx, func(reports []fakelrs.Report) bool { return len(reports) > 3 })
			if err != nil {
				return err
			}
			var delay time.Duration
			if err := s.child.Call("Counted", nil, &delay); err != nil {
				return err
			}
			if delay > maxCount {
				err = fmt.Errorf("counting a call took %v; must take at most %v", delay, maxCount)
			}
			return err
		}, after: func(ctx context.Context, s *scene) error {
			s.load.Instruct(time.Second, "other-1") // in the place of the long list
			if err := s.child.Call("Count", nil, nil); err != nil {
				return err
			}
			before := len(s.load.Reports())
			err := s.load.Await(ctx, func(reports []fakelrs.Report) bool { return len(reports) > before+2 })
			if err != nil {
				return err
			}
			return s.child.Call("Counted", nil, nil)
		}},
	}
}

// maxCount is how long counting a call may take while reports are made, on a machine that
// is shared.
const maxCount = 500 * time.Millisecond

// aggregate is a Cluster that stands for others.
func aggregate(name string, below []byte) []byte {
	const config = typeURLPrefix + "envoy.extensions.clusters.aggregate.v3.ClusterConfig"
	return append(wire.Text(1, name), wire.Field(38, wire.Text(1, "envoy.clusters.aggregate"), wire.Field(2, wire.Text(1, config), wire.Field(2, below)))...)
}

// target has the client open a channel whose routes lead to clusters. It sends those that
// there are until a call fails: with a part of the error, or because none is usable.
func (s *scene) target(ctx context.Context, routed []string, clusters [][]byte, failure string) error {
	if err := s.child.Call("Dial", nil, nil); err != nil {
		return err
	}
	if _, err := s.until(ctx, "request for the Listener", func(r request) bool { return slices.Contains(r.names, "svc") }); err != nil {
		return err
	}
	l, err := targetListener("svc", routed)
	if err != nil {
		return err
	}
	if err := s.post(response(listenerMessage, l)); err != nil {
		return err
	}
	answer := response(clusterMessage, clusters...)
	if _, err := s.until(ctx, "request for clusters", func(r request) bool { return r.message == clusterMessage }); err != nil {
		return err
	}
	if err := s.post(answer); err != nil {
		return err
	}
	stop := make(chan struct{})
	ended := make(chan error, 1)
	go func() { ended <- s.supply(ctx, answer, stop) }()
	var outcome string
	err = s.child.Call("Call", nil, &outcome)
	close(stop)
	switch sent := <-ended; {
	case err != nil:
		return err
	case sent != nil:
		return sent
	case outcome == "" || !strings.Contains(outcome, failure):
		return fmt.Errorf("a call failed with %q; want %q in it", outcome, failure)
	}
	return s.child.Call("HangUp", nil, nil)
}

// supply answers each subscription to clusters until stop is closed.
func (s *scene) supply(ctx context.Context, answer *discoveryv3.DiscoveryResponse, stop <-chan struct{}) error {
	for {
		select {
		case r := <-s.requests:
			if r.reason != "" {
				return errors.New(r.reason)
			}
			if r.nonce != "" || r.message != clusterMessage {
				continue
			}
			if err := s.post(answer); err != nil {
				return err
			}
		case <-stop:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// response is a state-of-the-world response.
func response(message string, bodies ...[]byte) *discoveryv3.DiscoveryResponse {
	url := typeURLPrefix + message
	resp := &discoveryv3.DiscoveryResponse{TypeUrl: url}
	for _, b := range bodies {
		resp.Resources = append(resp.Resources, &anypb.Any{TypeUrl: url, Value: b})
	}
	return resp
}
