package main

import (
	"context"
	"fmt"
	"math"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// counts are the numbers of calls by the server that answered.
type counts map[string]uint64

// call makes a call, and returns the name of the server that answered.
func (s *stage) call(ctx context.Context) (string, error) {
	answer := new(wrapperspb.StringValue)
	if err := s.conn.Invoke(ctx, "/shop.Checkout/Pay", wrapperspb.String("42 €"), answer); err != nil {
		return "", err
	}
	s.counts[answer.GetValue()]++
	return answer.GetValue(), nil
}

// split measures the share of calls of two clusters from two authorities.
func (s *stage) split(ctx context.Context) error {
	s.Chapter("One target, two authorities: 80 of 100 calls are for stable, 20 for canary")
	const n = 2000
	got := make(counts)
	for range n {
		who, err := s.call(ctx)
		if err != nil {
			return err
		}
		got[who]++
	}
	share := float64(got["canary"]) / n
	if tolerance := 5 * math.Sqrt(0.2*0.8/n); math.Abs(share-0.2) > tolerance {
		return fmt.Errorf("%.1f %% of the calls went to canary; want 20 %%, give or take %.1f", 100*share, 100*tolerance)
	}
	s.Seen("%d calls: %.1f %% went to stable, %.1f %% to canary", n, 100-100*share, 100*share)
	return nil
}

// failover stops the servers of the highest priority and starts them again.
func (s *stage) failover(ctx context.Context) error {
	s.Chapter("Stable's first server stops: its calls go to the next priority, and then back")
	s.first.stop()
	failed, err := s.until(ctx, s.second.name)
	if err != nil {
		return err
	}
	s.Seen("%s answers; %d calls failed meanwhile", s.second.name, failed)
	if err := s.first.start(ctx); err != nil {
		return err
	}
	if _, err := s.until(ctx, s.first.name); err != nil {
		return err
	}
	s.Seen("%s is back, and answers", s.first.name)
	return nil
}

// until makes calls until the named server answers. It returns the number of failed calls
// before.
func (s *stage) until(ctx context.Context, name string) (failed int, err error) {
	for {
		switch who, err := s.call(ctx); {
		case ctx.Err() != nil:
			return failed, fmt.Errorf("%s did not answer in time: %w", name, ctx.Err())
		case err != nil:
			failed++
		case who == name:
			return failed, nil
		}
	}
}

// fault makes the control plane inject an error into all calls, and removes it again.
func (s *stage) fault(ctx context.Context) error {
	s.Chapter("The control plane injects a fault, and removes it")
	if err := s.publishListener(abort); err != nil {
		return err
	}
	for {
		_, err := s.call(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if status.Code(err) == codes.ResourceExhausted {
			s.Seen("calls fail: %v", err)
			break
		}
	}
	if err := s.publishListener(""); err != nil {
		return err
	}
	failed, err := s.until(ctx, "canary")
	if err != nil {
		return err
	}
	s.Seen("calls are answered again, after %d more failures", failed)
	return nil
}

// load compares the load reports with the counts of the servers.
func (s *stage) load(ctx context.Context) error {
	s.Chapter("Each authority receives the load reports of its own cluster")
	for _, a := range []struct {
		*authority
		cluster string
		calls   uint64
	}{
		{s.east, "stable", s.counts[s.first.name] + s.counts[s.second.name]},
		{s.west, "canary", s.counts[s.canary.name]},
	} {
		got, err := a.successes(ctx, a.calls)
		switch {
		case err != nil:
			return fmt.Errorf("%s received reports of %d calls of %d: %w", a.name, got, a.calls, err)
		case got != a.calls:
			return fmt.Errorf("%s received reports of %d calls; want %d", a.name, got, a.calls)
		}
		s.Seen("%s received reports of %d successful calls of %s, exactly as many as the client made", a.name, a.calls, a.cluster)
	}
	return nil
}

// successes waits until load reports have a number of successful calls, and returns the reported number.
func (a *authority) successes(ctx context.Context, want uint64) (uint64, error) {
	for {
		var got uint64
		for _, total := range a.plane.Load() {
			got += total.Succeeded
		}
		if got >= want {
			return got, nil
		}
		select {
		case <-a.reported:
		case <-ctx.Done():
			return got, context.Cause(ctx)
		}
	}
}
