package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// pause is the time between two queries.
const pause = 200 * time.Millisecond

// get decodes the data of an answer of Prometheus.
func (p *server) get(ctx context.Context, path string, data any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+path, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return fmt.Errorf("%s: %s: %w", path, resp.Status, err)
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s: %s", path, answer.Error)
	}
	return json.Unmarshal(answer.Data, data)
}

// query returns the number of series that a query finds.
func (p *server) query(ctx context.Context, expr string) (int, error) {
	var data struct{ Result []any }
	err := p.get(ctx, "/api/v1/query?query="+url.QueryEscape(expr), &data)
	return len(data.Result), err
}

// until repeats a condition until it is nil, or returns its last error before the end of the context. A server that is
// starting causes errors, too.
func until(ctx context.Context, condition func() error) error {
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	last := context.DeadlineExceeded
	for {
		err := condition()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return last
		}
		last = err
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return last
		}
	}
}

// patience is the longest time until Prometheus has seen a change.
const patience = 20 * time.Second

// await waits until a query finds a series.
func (p *server) await(ctx context.Context, expr string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return until(ctx, func() error {
		n, err := p.query(ctx, expr)
		if err == nil && n == 0 {
			err = fmt.Errorf("the query %s finds nothing", expr)
		}
		return err
	})
}

// awaitAlerts waits until every alert is pending or fires.
func (p *server) awaitAlerts(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return until(ctx, func() error {
		var data struct {
			Groups []struct {
				Rules []struct{ Name, State string }
			}
		}
		if err := p.get(ctx, "/api/v1/rules?type=alert", &data); err != nil {
			return err
		}
		var lines []string
		inactive, all := "", 0
		for _, g := range data.Groups {
			for _, r := range g.Rules {
				all++
				lines = append(lines, r.Name+" is "+r.State)
				if r.State == "inactive" {
					inactive = r.Name
				}
			}
		}
		if all == 0 || inactive != "" {
			return fmt.Errorf("%d alerts; the alert %q is inactive", all, inactive)
		}
		fmt.Println(strings.Join(lines, "\n"))
		return nil
	})
}

// acceptsAll sends the queries of a dashboard, with every target selected.
func (p *server) acceptsAll(ctx context.Context, dashboard string) error {
	file, err := os.ReadFile(dashboard)
	if err != nil {
		return err
	}
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(file, &d); err != nil {
		return err
	}
	all := 0
	for _, panel := range d.Panels {
		for _, t := range panel.Targets {
			all++
			expr := strings.NewReplacer("$target", ".*", "$__rate_interval", "1m").Replace(t.Expr)
			n, err := p.query(ctx, expr)
			if err != nil {
				return fmt.Errorf("panel %q: %w", panel.Title, err)
			}
			fmt.Printf("panel %q: %d series\n", panel.Title, n)
		}
	}
	if all == 0 {
		return fmt.Errorf("%s has no query", dashboard)
	}
	return nil
}
