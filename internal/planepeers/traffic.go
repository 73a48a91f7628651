package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// callTimeout is the limit of a call. No call of a story needs so long on an idle machine.
const callTimeout = 30 * time.Second

// call calls a method, with pairs of metadata, and returns the name of the backend.
func call(ctx context.Context, cc *grpc.ClientConn, method string, pairs ...string) (string, error) {
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(ctx, pairs...), callTimeout)
	defer cancel()
	var reply wrapperspb.StringValue
	err := cc.Invoke(ctx, method, new(emptypb.Empty), &reply)
	return reply.GetValue(), err
}

// shares makes calls, and returns the number of those that each backend answered.
func shares(ctx context.Context, cc *grpc.ClientConn, calls int, pairs ...string) (map[string]int, error) {
	seen := make(map[string]int)
	for range calls {
		who, err := call(ctx, cc, whoMethod, pairs...)
		if err != nil {
			return nil, err
		}
		seen[who]++
	}
	return seen, nil
}

// follows makes calls until the backends that answered a number of them meet a condition.
func follows(ctx context.Context, cc *grpc.ClientConn, about string, holds func(map[string]int) bool, pairs ...string) error {
	var seen map[string]int
	var failure error
	err := until(ctx, about, func() bool {
		const enough = 40
		seen, failure = shares(ctx, cc, enough, pairs...)
		return failure != nil || holds(seen)
	})
	if failure != nil {
		return fmt.Errorf("%s: %w", about, failure)
	}
	if err != nil {
		return fmt.Errorf("%w; calls reach %v", err, seen)
	}
	return nil
}

// only returns the condition that just these backends answer.
func only(names ...string) func(map[string]int) bool {
	return func(seen map[string]int) bool {
		for _, n := range names {
			if seen[n] == 0 {
				return false
			}
		}
		return len(seen) == len(names)
	}
}

// A traffic makes calls until it is stopped. None of them may fail.
type traffic struct {
	cancel context.CancelFunc
	all    sync.WaitGroup

	mu       sync.Mutex
	calls    int
	failures []error
}

// startTraffic makes calls on some goroutines.
func startTraffic(ctx context.Context, cc *grpc.ClientConn) *traffic {
	ctx, cancel := context.WithCancel(ctx)
	t := &traffic{cancel: cancel}
	for range 4 {
		t.all.Go(func() {
			for pause(ctx, 2*time.Millisecond) == nil {
				_, err := call(context.WithoutCancel(ctx), cc, whoMethod)
				t.record(err)
			}
		})
	}
	return t
}

func (t *traffic) record(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls++
	if err != nil {
		t.failures = append(t.failures, fmt.Errorf("call %d at %s: %w", t.calls, time.Now().Format(time.TimeOnly), err))
	}
}

// stop ends the calls, and returns their number and the failures.
func (t *traffic) stop() (int, error) {
	t.cancel()
	t.all.Wait()
	if n := len(t.failures); n > 0 {
		return t.calls, fmt.Errorf("%d of %d calls failed: %w", n, t.calls, errors.Join(t.failures[:min(n, 3)]...))
	}
	return t.calls, nil
}
