package main

import (
	"context"
	"fmt"
	"time"
)

// A peer is a client of another project.
type peer interface {
	// Who makes a call, and returns the name of the backend.
	Who(ctx context.Context) (string, error)
	Close() error
}

// stepTimeout is the limit of one step.
const stepTimeout = time.Minute

// tell runs the story with a peer that subscribes to a number of types.
func tell(ctx context.Context, name string, types int, open func(ctx context.Context, w *world, node string) (peer, error)) error {
	w, err := newWorld(ctx)
	if err != nil {
		return err
	}
	defer w.close()
	p, err := open(ctx, w, name)
	if err != nil {
		return err
	}
	defer p.Close()
	for _, s := range []struct {
		event string
		f     func(ctx context.Context) error
	}{
		{"the first calls reach a", func(ctx context.Context) error { return reaches(ctx, p, "a") }},
		{"the client accepts all resources", func(ctx context.Context) error {
			return until(ctx, "the client accepts", func() bool { return accepted(w.client(name), types) })
		}},
		{"after a change, calls reach b", func(ctx context.Context) error { return move(ctx, w, p, "b") }},
		{"the client rejects an invalid assignment", func(ctx context.Context) error {
			if err := w.assign(ctx, "invalid"); err != nil {
				return err
			}
			return until(ctx, "the client rejects", func() bool { return rejection(w.client(name)) != "" })
		}},
		{"calls still reach b", func(ctx context.Context) error { return reaches(ctx, p, "b") }},
		{"after a valid assignment, calls reach c", func(ctx context.Context) error { return move(ctx, w, p, "c") }},
		{"while the server is down, calls reach c", func(ctx context.Context) error { w.stop(); return reaches(ctx, p, "c") }},
		{"after a restart, the client accepts all resources", func(ctx context.Context) error {
			if err := w.start(ctx); err != nil {
				return err
			}
			return until(ctx, "the client accepts", func() bool { return accepted(w.client(name), types) })
		}},
		{"after a change, calls reach a", func(ctx context.Context) error { return move(ctx, w, p, "a") }},
	} {
		step, cancel := context.WithTimeout(ctx, stepTimeout)
		err := s.f(step)
		cancel()
		if err != nil {
			return fmt.Errorf("%s: %w (client: %+v)", s.event, err, w.client(name))
		}
	}
	return nil
}

// move changes the backend.
func move(ctx context.Context, w *world, p peer, backend string) error {
	if err := w.assign(ctx, backend); err != nil {
		return err
	}
	return reaches(ctx, p, backend)
}

// reaches makes calls until they reach a backend.
func reaches(ctx context.Context, p peer, backend string) error {
	var who string
	var failure error
	err := until(ctx, "calls reach "+backend, func() bool {
		who, failure = p.Who(ctx)
		return who == backend
	})
	if err != nil {
		return fmt.Errorf("%w; the last call reaches %q: %w", err, who, failure)
	}
	return nil
}
