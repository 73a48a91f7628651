package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

var (
	chaosRun      = flag.Bool("chaos", false, "send requests through a forwarding server whose configuration changes, beside a reverse proxy of net/http")
	chaosRequests = flag.Int("requests", 100_000, "the number of requests of -chaos through the forwarding server")
)

// changeEvery is the time between two changes of the configuration, and dieEvery that between two ends of endpoints.
const (
	changeEvery = 20 * time.Millisecond
	dieEvery    = 150 * time.Millisecond
)

// chaos runs the clients in two phases: in the second one, endpoints die and reset connections.
func chaos(ctx context.Context, dir string) error {
	before := runtime.NumGoroutine()
	missed, err := chaosWorld(ctx, dir)
	if err != nil {
		return err
	}
	left := goroutinesLeft(ctx, before)
	fmt.Printf("%d goroutines left\n", left)
	if left > 0 {
		missed = append(missed, "goroutines are left")
	}
	if len(missed) > 0 {
		return errors.New(strings.Join(missed, "; "))
	}
	return nil
}

// chaosWorld returns the bounds that were missed.
func chaosWorld(ctx context.Context, dir string) (missed []string, err error) {
	w, err := newWorld(dir) //nolint:contextcheck // ends with close
	if err != nil {
		return nil, err
	}
	defer w.close()
	p, err := newProxies(ctx, w)
	if err != nil {
		return nil, err
	}
	defer p.close()
	for _, phase := range []struct {
		name string
		dies bool
	}{{"no endpoint dies", false}, {"endpoints die", true}} {
		list, err := p.phase(ctx, phase.name, phase.dies, *chaosRequests/2)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", phase.name, err)
		}
		missed = append(missed, list...)
	}
	panics := p.panics.Load()
	fmt.Printf("%d panics\n", panics)
	if panics > 0 {
		missed = append(missed, "handlers have panicked")
	}
	return missed, nil
}

// phase lets all clients send requests through both proxies.
func (p *proxies) phase(ctx context.Context, name string, dies bool, requests int) (missed []string, err error) {
	start, changes := time.Now(), p.changes
	changing, stop := context.WithCancel(ctx)
	var background sync.WaitGroup
	background.Go(func() { p.keepChanging(changing) })
	if dies {
		background.Go(func() { p.keepKilling(changing) })
	}
	type outcome struct {
		ours, theirs result
		errs         [2]error
	}
	outcomes := make([]outcome, len(p.clients))
	var running sync.WaitGroup
	for i, c := range p.clients {
		n := requests * c.percent / 100
		running.Go(func() { outcomes[i].ours, outcomes[i].errs[0] = c.send(ctx, p.ours(c), n, dies) })
		running.Go(func() { outcomes[i].theirs, outcomes[i].errs[1] = c.send(ctx, p.theirs(c), n, dies) })
	}
	running.Wait()
	stop()
	background.Wait()
	sent := 0
	fmt.Printf("%s: %d changes of the configuration, %d ends of endpoints in %.0f s\n", name, p.changes-changes, p.deaths.Load(), time.Since(start).Seconds())
	for i, c := range p.clients {
		o := outcomes[i]
		if err := errors.Join(o.errs[:]...); err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		sent += o.ours.Sent
		fmt.Printf("  %-18s %6d requests, lost %4d; net/http's ReverseProxy lost %4d of %d %s\n", c.name, o.ours.Sent, o.ours.Lost, o.theirs.Lost, o.theirs.Sent, o.ours.reasons())
		if o.ours.Lost > o.theirs.Lost || !dies && o.ours.Lost > 0 {
			missed = append(missed, fmt.Sprintf("%s: %s loses %d requests, net/http %d", name, c.name, o.ours.Lost, o.theirs.Lost))
		}
	}
	fmt.Printf("  %-18s %6d requests\n", "all", sent)
	return missed, nil
}

// A result has the counts of a client.
type result struct {
	Sent, Lost int
	Why        map[string]int
}

// reasons returns why requests were lost.
func (r result) reasons() string {
	if r.Lost == 0 {
		return ""
	}
	return fmt.Sprint(r.Why)
}

// goroutinesLeft waits for the end of the goroutines that were started, and returns the number of those that do not end. It prints
// them.
func goroutinesLeft(ctx context.Context, before int) int {
	limited, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if until(limited, func() bool { return runtime.NumGoroutine() <= before }) == nil {
		return 0
	}
	var b strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&b, 1) // a Builder has no errors
	fmt.Println(b.String())
	return runtime.NumGoroutine() - before
}

// A panicLog counts the lines of net/http about panics, except for those that abort a response on purpose.
type panicLog struct{ count *atomic.Int64 }

// Write implements [io.Writer].
func (l panicLog) Write(line []byte) (int, error) {
	if strings.Contains(string(line), "panic serving") {
		l.count.Add(1)
		fmt.Printf("%s\n", line)
	}
	return len(line), nil
}

func (p *proxies) log() *log.Logger { return log.New(panicLog{&p.panics}, "", 0) }
