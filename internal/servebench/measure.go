package main

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/xdsforge/xdsforge/internal/process"
)

// namesOfAClient is the number of resources that a client subscribes to.
const namesOfAClient = 100

// A server is a server process.
type server struct {
	*process.Child
	addr    string
	version int
}

func start(ctx context.Context, which string, more ...string) (*server, error) {
	c, err := process.Start(ctx, append([]string{"-serve", which}, more...)...)
	if err != nil {
		return nil, err
	}
	s := &server{Child: c}
	err = s.Call("Address", struct{}{}, &s.addr)
	return s, err
}

// publish changes resources.
func (s *server) publish(first, count int) error {
	s.version++
	return s.Call("Publish", Change{first, count, s.version}, nil)
}

// both starts both servers, calls f with each, and stops them.
func both(ctx context.Context, f func(s *server) error) error { return pair(ctx, "ours", f) }

// pair is both with another server of this module.
func pair(ctx context.Context, ours string, f func(s *server) error) error {
	for _, which := range []string{ours, "peer"} {
		s, err := start(ctx, which)
		if err != nil {
			return err
		}
		err = f(s)
		s.Stop()
		if err != nil {
			return err
		}
	}
	return nil
}

func measure(ctx context.Context, clients, rounds int) ([]Row, error) {
	all := func(int) bool { return true }
	same := func(int) []string { return list(0, namesOfAClient) }
	mixed := func(i int) []string {
		r := rand.New(rand.NewPCG(uint64(i), 1)) //nolint:gosec // a number of clients
		names := list(0, 10*namesOfAClient)
		r.Shuffle(len(names), func(a, b int) { names[a], names[b] = names[b], names[a] })
		return names[:namesOfAClient]
	}
	fan := fanOut{ctx: ctx, ours: "ours", rounds: rounds}
	one, err := fan.run(clients, namesOfAClient, same, all, 1, clients)
	if err != nil {
		return nil, err
	}
	every, err := fan.run(clients, namesOfAClient, same, all, namesOfAClient, clients*namesOfAClient)
	if err != nil {
		return nil, err
	}
	different, err := fan.run(clients, 10*namesOfAClient, mixed, all, 10*namesOfAClient, clients*namesOfAClient)
	if err != nil {
		return nil, err
	}
	third := clients * 3 / 10
	reads := func(i int) bool { return i%3 != 2 }
	readers := 0
	for i := range third {
		if reads(i) {
			readers++
		}
	}
	lazy, err := fan.run(third, namesOfAClient, same, reads, namesOfAClient, readers*namesOfAClient)
	if err != nil {
		return nil, err
	}
	held, err := resources(ctx, 100_000)
	if err != nil {
		return nil, err
	}
	filled, err := fill(ctx, 100_000)
	if err != nil {
		return nil, err
	}
	large, err := crowds(ctx, rounds)
	if err != nil {
		return nil, err
	}
	return append([]Row{
		row("one of 100 changes: CPU", "ms", milliseconds(one[0].cpu), milliseconds(one[1].cpu), 0.15),
		row("one of 100 changes: last client", "ms", milliseconds(one[0].last), milliseconds(one[1].last), 0.5),
		row("all 100 change: CPU", "ms", milliseconds(every[0].cpu), milliseconds(every[1].cpu), 0.25),
		row("all 100 change: last client", "ms", milliseconds(every[0].last), milliseconds(every[1].last), 0.5),
		row("different names, all 1,000 change: CPU", "ms", milliseconds(different[0].cpu), milliseconds(different[1].cpu), 0.45),
		row("a third of the clients never reads, all change: CPU", "ms", milliseconds(lazy[0].cpu), milliseconds(lazy[1].cpu), 0.4),
		row("heap of a client", "B", one[0].heap, one[1].heap, 0.5),
		row("heap of a held resource", "B", held[0], held[1], 0.2),
		limit("100,000 resources until serving: CPU", "ms", milliseconds(filled[0]), milliseconds(filled[1]), 3000),
	}, large...), nil
}

func list(first, count int) (names []string) {
	for i := range count {
		names = append(names, nameOf(first+i))
	}
	return names
}

// A fanOut measures changes that many clients receive.
type fanOut struct {
	ctx    context.Context //nolint:containedctx // of the program
	ours   string          // server of this module
	rounds int
}

// A result has the cost of a change for a server.
type result struct {
	cpu  time.Duration // the mean, with the garbage that the changes leave
	last time.Duration // the median
	heap float64       // of a client, in bytes
}

// run measures changes of the first resources with both servers. The clients receive a number of
// resources in each round.
func (f fanOut) run(clients, total int, names func(int) []string, reads func(int) bool, change, receive int) (out [2]result, err error) {
	i := 0
	err = pair(f.ctx, f.ours, func(s *server) error {
		for at := 0; at < total; at += 1000 {
			if err := s.publish(at, min(1000, total-at)); err != nil {
				return err
			}
		}
		var before, with Usage
		if err := s.Call("Usage", struct{}{}, &before); err != nil {
			return err
		}
		fleet, err := connect(f.ctx, s.addr, clients, names, reads)
		if err != nil {
			return err
		}
		defer fleet.close()
		var start time.Duration
		var last []time.Duration
		for round := range f.rounds + 1 {
			d, err := f.round(s, fleet, change, receive)
			if err == nil && round == 0 { // the first is for practice
				err = s.Call("CPU", struct{}{}, &start)
			}
			if err != nil {
				return err
			}
			last = append(last, d)
		}
		var end time.Duration
		if err := s.Call("CPU", struct{}{}, &end); err != nil {
			return err
		}
		if err := s.Call("Usage", struct{}{}, &with); err != nil {
			return err
		}
		out[i] = result{(end - start) / time.Duration(f.rounds), median(last[1:]), (float64(with.Heap) - float64(before.Heap)) / float64(clients)}
		i++
		return nil
	})
	return out, err
}

// round makes one change, and returns the time until the last client has it.
func (f fanOut) round(s *server, fleet *fleet, change, receive int) (time.Duration, error) {
	fleet.expect(receive)
	start := time.Now()
	if err := s.publish(0, change); err != nil {
		return 0, err
	}
	last, err := fleet.last(f.ctx)
	if err != nil {
		return 0, err
	}
	settle := time.NewTimer(50 * time.Millisecond) // the ACKs belong to the change
	defer settle.Stop()
	<-settle.C
	return last.Sub(start), nil
}

// resources measures the memory of resources that nobody subscribes to.
func resources(ctx context.Context, n int) (out [2]float64, err error) {
	i := 0
	err = both(ctx, func(s *server) error {
		var before, after Usage
		if err := s.Call("Usage", struct{}{}, &before); err != nil {
			return err
		}
		for at := 0; at < n; at += 1000 {
			if err := s.publish(at, min(1000, n-at)); err != nil {
				return err
			}
		}
		if err := s.Call("Usage", struct{}{}, &after); err != nil {
			return err
		}
		out[i] = (float64(after.Heap) - float64(before.Heap)) / float64(n)
		i++
		return nil
	})
	return out, err
}

// fill measures the processor time from the first of many resources until a client has its own. Ours are
// validated. On a machine without other load, the time that passes is not longer.
func fill(ctx context.Context, n int) (out [2]time.Duration, err error) {
	i := 0
	err = both(ctx, func(s *server) error {
		if err := s.Call("Prepare", Change{Count: n, Version: 1}, nil); err != nil {
			return err
		}
		var start, end time.Duration
		if err := s.Call("CPU", struct{}{}, &start); err != nil {
			return err
		}
		if err := s.Call("Fill", struct{}{}, nil); err != nil {
			return err
		}
		fleet, err := connect(ctx, s.addr, 1, func(int) []string { return list(n-namesOfAClient, namesOfAClient) }, func(int) bool { return true })
		if err != nil {
			return err
		}
		fleet.close()
		err = s.Call("CPU", struct{}{}, &end)
		out[i] = end - start
		i++
		return err
	})
	return out, err
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
