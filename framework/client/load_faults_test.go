package client_test

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/load"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/fakelrs"
)

// The tests of this file are about time and faults. They run gRPC on a clock of their own,
// over pipes in memory.

// newLoadClient is a client with the default times, and a store of it.
func newLoadClient(t *testing.T, n *loadNetwork, opts ...option) (*client.Client, *load.Store) {
	t.Helper()
	set, err := resource.NewSet(clusters)
	if err != nil {
		t.Fatal(err)
	}
	b := oneServer(t, "passthrough:///memory")
	c, err := newWith(b, set, append(opts, withTransport(n))...)
	if err != nil {
		t.Fatal(err)
	}
	return c, loadOf(t, c, b.Servers()[0])
}

func TestReportsAddUpToWhatWasCounted(t *testing.T) {
	for name, seeds := range map[string][]uint64{"no stream breaks": {0}, "streams break": {1, 2, 3, 4, 5, 6, 7, 8}} {
		t.Run(name, func(t *testing.T) {
			for _, seed := range seeds {
				synctest.Test(t, func(t *testing.T) { conserve(t, seed) })
			}
		})
	}
}

// conserve makes calls at random for ten minutes while intervals change and, unless the
// seed is 0, streams break and the server starts anew.
func conserve(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 0))
	sink := fakelrs.New(5 * time.Second)
	n := newLoadNetwork(sink.Register)
	if seed > 0 {
		n.random = rand.New(rand.NewPCG(seed, 1))
	}
	c, store := newLoadClient(t, n)
	var want fakelrs.Totals
	var inProgress []*load.Locality
	for began := time.Now(); time.Since(began) < 10*time.Minute; {
		pass(time.Duration(random.IntN(2000)) * time.Millisecond)
		inProgress = traffic(store, random, inProgress, &want)
		switch random.IntN(30) {
		case 0:
			sink.Instruct(time.Duration(random.IntN(20_000)) * time.Millisecond)
		case 1:
			if seed > 0 {
				n.stop()
				pass(time.Duration(random.IntN(20)) * time.Second)
				n.start()
			}
		}
	}
	n.mu.Lock()
	n.random = nil
	n.mu.Unlock()
	for _, l := range inProgress {
		l.CallFinished(nil, nil)
		want.Succeeded++
	}
	pass(10 * time.Minute)
	if !store.Empty() {
		t.Error("the store still has scopes that are unused and reported")
	}
	if opened, open := sink.Streams(); open != 0 || opened != 1 && seed == 0 {
		t.Errorf("%d streams of %d are open although there is nothing to report", open, opened)
	}
	got := fakelrs.Sum(sink.Reports())
	t.Logf("seed %d: %+v counted; %+v reported, %+v lost in %d broken streams, of %d messages", seed, want, got, n.lost, n.breaks, len(sink.Reports()))
	got.Issued += n.lost.Issued
	got.Succeeded += n.lost.Succeeded
	got.Failed += n.lost.Failed
	got.Dropped += n.lost.Dropped
	if got != want {
		t.Errorf("seed %d: reported or lost %+v; counted %+v", seed, got, want)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	n.stop()
}

// traffic makes some calls, the last of which stay in progress, and finishes old ones.
func traffic(store *load.Store, random *rand.Rand, inProgress []*load.Locality, want *fakelrs.Totals) []*load.Locality {
	if n := len(inProgress); n > 0 && random.IntN(2) == 0 {
		inProgress[n-1].CallFinished(errors.New("failed"), nil)
		want.Failed++
		inProgress = inProgress[:n-1]
	}
	c := store.Cluster([]string{"a", "b"}[random.IntN(2)], "")
	defer c.Release()
	l := c.Locality(load.LocalityID{Zone: string(rune('a' + random.IntN(3)))}, load.Propagation{})
	defer l.Release()
	for range random.IntN(10) {
		l.CallStarted()
		want.Issued++
		if random.IntN(4) == 0 {
			inProgress = append(inProgress, l)
			continue
		}
		l.CallFinished(nil, nil)
		want.Succeeded++
	}
	if random.IntN(3) == 0 {
		c.Drop("throttle")
		want.Dropped++
	}
	return inProgress
}

func TestTimesOfReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := fakelrs.New(5 * time.Second)
		n := newLoadNetwork(sink.Register)
		var log strings.Builder
		c, store := newLoadClient(t, n, withLogger(slog.New(slog.NewTextHandler(&log, nil))))
		pass(time.Hour)
		if opened, _ := sink.Streams(); opened != 0 {
			t.Fatal("there is a stream although nobody counts anything")
		}
		l := store.Cluster("c", "").Locality(load.LocalityID{}, load.Propagation{})
		l.CallStarted()
		began := time.Now()
		pass(11 * time.Second)
		sink.Instruct(time.Nanosecond) // which is too short
		pass(2 * time.Second)
		reports := sink.Reports()[1:]
		last := began
		for i, want := range []time.Duration{5, 10, 11, 12, 13} {
			if i >= len(reports) {
				t.Fatalf("%d reports; must be 5", len(reports))
			}
			stats := reports[i].Message.GetClusterStats()[0]
			at := reports[i].At
			if at.Sub(began) != want*time.Second || stats.GetLoadReportInterval().AsDuration() != at.Sub(last) {
				t.Errorf("report %d after %v, of the last %v; must be after %ds", i, at.Sub(began), stats.GetLoadReportInterval().AsDuration(), want)
			}
			last = at
		}
		_ = c.Close() // the server goes first, or last
		n.stop()
		if !strings.Contains(log.String(), "out of bounds") || !strings.Contains(log.String(), "asked=1ns used=1s") {
			t.Errorf("log:\n%smust say that the interval is another than was asked for", log.String())
		}
	})
}

// By default, gRPC servers accept messages of at most 4 MiB.
func TestLargeReportsAreSplit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 20_000
		sink := fakelrs.New(5 * time.Second)
		n := newLoadNetwork(sink.Register)
		c, store := newLoadClient(t, n)
		for i := range many {
			store.Cluster(fmt.Sprintf("cluster-%d-%s", i, strings.Repeat("x", 200)), "").Drop("")
		}
		pass(6 * time.Second)
		reports := sink.Reports()
		for _, r := range reports {
			if size := proto.Size(r.Message); size > 1<<20 {
				t.Errorf("a message of %d bytes", size)
			}
		}
		if got := fakelrs.Sum(reports); got.Dropped != many || len(reports) < 5 {
			t.Errorf("%d drops in %d messages; must be %d in several", got.Dropped, len(reports), many)
		}
		_ = c.Close() // the server goes first, or last
		n.stop()
	})
}

func TestServerWithoutLoadReportingIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		released := make(chan struct{})
		n := newLoadNetwork(func(*grpc.Server) {})
		n.Transport = countingTransport{n.Transport, func() {
			asked.Add(1)
			<-released // a cluster that is released after the answer is kept until the next one
		}}
		c, store := newLoadClient(t, n)
		gone := store.Cluster("gone", "")
		gone.Drop("")
		gone.Release()
		close(released)
		pass(time.Second)
		if !store.Empty() {
			t.Error("load without a user is kept for a server that takes none")
		}
		store.Cluster("used", "").Drop("")
		pass(10 * time.Hour)
		if n := asked.Load(); n < 9 || n > 12 {
			t.Errorf("the server was asked %d times in 10 h; must be about once an hour", n)
		}
		_ = c.Close() // the server goes first, or last
		n.stop()
	})
}
