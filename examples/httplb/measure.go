package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
)

// send sends concurrent requests. It counts answers by server and drops by category.
func send(ctx context.Context, c *http.Client, requests int) (map[string]uint64, error) {
	var mu sync.Mutex
	count := make(map[string]uint64)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for range requests {
		g.Go(func() error {
			who, err := get(ctx, c)
			mu.Lock()
			defer mu.Unlock()
			count[who]++
			return err
		})
	}
	return count, g.Wait()
}

// get sends a request and returns the name of the server that answered.
func get(ctx context.Context, c *http.Client) (who string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+shopHost+"/", http.NoBody)
	if err != nil {
		return "", err
	}
	resp, err := c.Do(r)
	if drop, ok := errors.AsType[*DroppedError](err); ok {
		return dropsOf(drop.Category), nil
	}
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(resp.Body)
	return string(b), errors.Join(err, resp.Body.Close())
}

func dropsOf(category string) string { return "dropped: " + category }

// tolerance is the allowed difference between a measured and a configured share: five
// standard deviations. Chance exceeds it once in a million times. A share of 0 has no
// tolerance.
func tolerance(share float64, requests int) float64 {
	return 5 * math.Sqrt(share*(1-share)/float64(requests))
}

// compare prints the measured and the configured shares. It returns an error if they differ
// too much.
func compare(out io.Writer, want map[string]float64, got map[string]uint64, requests int) error {
	var errs []error
	names := maps.Clone(want)
	for name := range got {
		names[name] += 0
	}
	fmt.Fprintf(out, "   %-22s %10s %10s %10s\n", "", "configured", "measured", "tolerance")
	for _, name := range slices.Sorted(maps.Keys(names)) {
		share, limit := float64(got[name])/float64(requests), tolerance(want[name], requests)
		mark := "ok"
		if math.Abs(share-want[name]) > limit {
			mark = "TOO FAR"
			errs = append(errs, fmt.Errorf("%s got %.2f %% of the requests; must be %.2f ± %.2f %%", name, 100*share, 100*want[name], 100*limit))
		}
		fmt.Fprintf(out, "   %-22s %8.2f %% %8.2f %% %8.2f %%  %s\n", name, 100*want[name], 100*share, 100*limit, mark)
	}
	return errors.Join(errs...)
}
