package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// manyNames is the number of names of a round, and namesApart the time between their subscriptions.
const (
	manyNames  = 16
	namesApart = 200 * time.Microsecond
)

// answerTimeout is less than half of the resource timer: a name that the client must request again counts as lost.
const answerTimeout = 6 * time.Second

// writeNames writes the services of the story. Each second one has more endpoints than tightLimits allow.
func writeNames(i *istiod) error {
	for n := range manyNames {
		size := 1 + n%2*200
		list := make([]endpointOf, size)
		for k := range list {
			list[k] = endpointOf{fmt.Sprintf("10.1.%d.%d:5000", n, k+1), "v1"}
		}
		if err := i.write(nameOf(n)+".yaml", service(nameOf(n), list...)); err != nil {
			return err
		}
	}
	return nil
}

func nameOf(n int) string { return fmt.Sprintf("name-%02d", n) }

// tightLimits reject the endpoints of each second service.
func tightLimits() resource.Limits { return resource.Limits{ResourceSize: 16 << 10} }

// names subscribes to names in quick succession, and counts those that istiod does not answer.
func (i *istiod) names(ctx context.Context, rounds int, v variant, bad bool) (string, error) {
	lost, rejected, requests := 0, uint64(0), uint64(0)
	start := time.Now()
	for range rounds {
		l, r, q, err := i.nameRound(ctx, v, bad)
		if err != nil {
			return "", err
		}
		lost, rejected, requests = lost+l, rejected+r, requests+q
	}
	seen := fmt.Sprintf("%d rounds, %d names lost, %d responses rejected, %d requests, %.0f ms a round", rounds, lost, rejected, requests,
		float64(time.Since(start).Milliseconds())/float64(rounds))
	if lost > 0 {
		return "", errors.New(seen)
	}
	if bad && rejected == 0 {
		return "", fmt.Errorf("%s; want rejections", seen)
	}
	return seen, nil
}

// nameRound is a round with a client of its own.
func (i *istiod) nameRound(ctx context.Context, v variant, bad bool) (lost int, rejected, requests uint64, err error) {
	config, err := i.bootstrap(node{ip: "10.9.9.9", name: "names", kind: "sidecar", generator: "grpc"}, v, "")
	if err != nil {
		return 0, 0, 0, err
	}
	opts := []xdsforge.Option{
		xdsforge.WithTypes(endpoint.Register), xdsforge.WithBootstrap(config), xdsforge.WithPrivateConnections(),
		xdsforge.WithLogger(slog.New(slog.DiscardHandler)),
	}
	if bad {
		opts = append(opts, xdsforge.WithLimits(tightLimits()))
	}
	c, err := xdsforge.New(opts...)
	if err != nil {
		return 0, 0, 0, err
	}
	defer c.Close()
	answers := make(chan error, manyNames)
	for n := range manyNames {
		if err := subscribe(c, n, bad && n%2 == 1, answers); err != nil {
			return 0, 0, 0, err
		}
		if err := pause(ctx, namesApart); err != nil {
			return 0, 0, 0, err
		}
	}
	limit := time.NewTimer(answerTimeout)
	defer limit.Stop()
	for lost = manyNames; lost > 0; lost-- {
		select {
		case err := <-answers:
			if err != nil {
				return 0, 0, 0, err
			}
			continue
		case <-limit.C:
		}
		break
	}
	s, err := c.Snapshot(ctx)
	if err != nil {
		return 0, 0, 0, err
	}
	return lost, s.Servers[0].Rejected, s.Servers[0].Requests, nil
}

// subscribe subscribes to a name until c is closed. It reports whether the first event has endpoints, or a rejection.
func subscribe(c *xdsforge.Client, n int, bad bool, answers chan<- error) error {
	var first sync.Once
	_, err := endpoint.Subscribe(c, clusterOf(nameOf(n)), func(ev endpoint.Event) {
		first.Do(func() {
			if bad && errors.Is(ev.Err, xdsforge.ErrInvalid) || !bad && ev.Update != nil && len(ev.Update.Localities) > 0 {
				answers <- nil
			} else {
				answers <- fmt.Errorf("%s: event %v", nameOf(n), ev)
			}
		})
	})
	return err
}

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
