package main

import (
	"context"
	"fmt"
	"time"

	resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
)

func deltaRows(ctx context.Context) (rows []Row, err error) {
	var first float64
	for _, n := range []int{10_000, 50_000} {
		err := within(ctx, n, func(ctx context.Context, srv *server) error {
			mine, err := delta(ctx, srv, ours, n)
			if err != nil {
				return err
			}
			peer, err := delta(ctx, srv, plain, n)
			rows = append(rows, Row{
				Name: fmt.Sprintf("one assignment of %d changes, delta", n), Unit: "ms", Bound: 1,
				Ours: milliseconds(mine), Peer: milliseconds(peer), Beside: "minimal",
			})
			if first == 0 {
				first = milliseconds(mine)
			} else {
				rows = append(rows, Row{Name: "the same", Unit: "ms", Ours: milliseconds(mine), Peer: first, Beside: "at 10000", Bound: 1.2})
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// delta measures the change of one assignment. It subtracts the cost of the commands to the
// control plane, which is of the same size.
func delta(ctx context.Context, srv *server, k kind, n int) (time.Duration, error) {
	command, err := each(ctx, srv, k, n, true, change{"", func(int) error { return srv.Call("Again", resourcev3.ClusterType, nil) }, -1, 0, true})
	if err != nil {
		return 0, err
	}
	all, err := each(ctx, srv, k, n, true, change{"", func(i int) error { return srv.touch(resourcev3.EndpointType, i) }, n, 0, false})
	return all - command, err
}
