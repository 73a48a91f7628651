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
		err := beside(ctx, n, true, ours, plain, func(ctx context.Context, clients map[kind]watching) error {
			mine, peer, err := takeTurns(ours, plain, func(k kind, turn int) (time.Duration, error) { return delta(ctx, clients[k], n, turn) })
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
func delta(ctx context.Context, w watching, n, turn int) (time.Duration, error) {
	command, err := w.see(ctx, turn, change{"", again(resourcev3.ClusterType), -1, true})
	if err != nil {
		return 0, err
	}
	all, err := w.see(ctx, turn, change{"", touched(resourcev3.EndpointType), n, false})
	return all - command, err
}
