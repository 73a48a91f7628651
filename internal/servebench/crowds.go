package main

import (
	"context"

	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/serve"
)

// Sizes of crowds.
const (
	streamsOfOneProcess = 2000
	manyClients         = 10_000
)

// crowds measures one change for many streams of one process, and for many clients. The first server of this module
// is one of package serve, for which all streams of an address are one client.
func crowds(ctx context.Context, rounds int) ([]Row, error) {
	same := func(int) []string { return list(0, namesOfAClient) }
	all := func(int) bool { return true }
	fan := fanOut{ctx: ctx, ours: "served", rounds: rounds}
	process, err := fan.run(streamsOfOneProcess, namesOfAClient, same, all, 1, streamsOfOneProcess)
	if err != nil {
		return nil, err
	}
	fan = fanOut{ctx: ctx, ours: "ours", rounds: max(1, rounds/4)}
	many, err := fan.run(manyClients, namesOfAClient, same, all, 1, manyClients)
	if err != nil {
		return nil, err
	}
	return []Row{
		row("2,000 streams of one process, one of 100 changes: last stream", "ms", milliseconds(process[0].last), milliseconds(process[1].last), 1),
		row("10,000 clients, one of 100 changes: CPU", "ms", milliseconds(many[0].cpu), milliseconds(many[1].cpu), 0.15),
		row("10,000 clients, one of 100 changes: last client", "ms", milliseconds(many[0].last), milliseconds(many[1].last), 0.5),
		row("10,000 clients: heap of a client", "B", many[0].heap, many[1].heap, 0.5),
	}, nil
}

// served returns a server of package serve.
func (p *plane) served(ctx context.Context) (*grpc.Server, error) {
	m := source.NewMemory()
	set, err := endpoints()
	if err != nil {
		return nil, err
	}
	s, err := serve.New(set, map[string]source.Source{"": m}) //nolint:contextcheck // a server ends with Close
	if err != nil {
		return nil, err
	}
	p.publish = committer(ctx, m)
	g := grpc.NewServer(serve.ServerOptions()...)
	s.Register(g) //nolint:contextcheck // streams have contexts of their own
	return g, nil
}
