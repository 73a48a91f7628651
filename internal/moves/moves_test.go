package moves

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/xds"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/grpcxds"
)

var count = flag.Int("moves.count", 20, "number of moves of the route")

// The variants of the protocol, as server features.
const (
	whole = "xds_v3"
	delta = "xds.transport.delta"
)

// shortPause and longPause are limits of the random time between two moves. After a long one, all removals were sent.
const (
	shortPause = 100 * time.Millisecond
	longPause  = 800 * time.Millisecond
)

// pace is the time between two calls of a channel, so that the calls of all leave time to the servers.
const pace = 500 * time.Microsecond

// Calls of channels succeed while each commit moves their route to another cluster and deletes the first, directly and
// through relays.
//
// The channels of grpc-go call the cluster before the move. Otherwise, some of their calls fail with "unknown cluster
// selected for RPC", even if nothing is removed: grpc-go uses a route shortly before it adds the LB policy of a new
// cluster.
func TestNoCallFailsWhileRoutesMove(t *testing.T) {
	store := source.NewMemory()
	backends := make([]string, 3)
	for i := range backends {
		backends[i] = newBackend(t, strconv.Itoa(i))
	}
	tx := new(source.Tx)
	putListener(t, tx, known)
	putListener(t, tx, fresh)
	putRoutes(t, tx, cluster(0), cluster(1))
	putCluster(t, tx, cluster(0), 0, backends[0])
	putCluster(t, tx, cluster(1), 0, backends[1])
	commit(t, store, tx)
	direct := newServer(t, store)
	var channels []*channel
	for _, plane := range []struct{ name, addr string }{
		{"server", direct},
		{"relay in state of the world", newRelay(t, direct, whole)},
		{"relay in delta", newRelay(t, direct, delta)},
	} {
		channels = append(channels, &channel{name: plane.name + ", grpc-go, known cluster", conn: dialGo(t, plane.addr, known), probes: true})
		for _, service := range []string{known, fresh} {
			for _, variant := range []string{whole, delta} {
				channels = append(channels, &channel{
					name: fmt.Sprintf("%s, grpcxds with %s, %s cluster", plane.name, variant, service),
					conn: dialOurs(t, plane.addr, service, variant),
				})
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var running sync.WaitGroup
	for _, c := range channels {
		if _, err := c.call(ctx, grpc.WaitForReady(true)); err != nil {
			t.Fatalf("%s: the first call failed: %v", c.name, err)
		}
		running.Go(func() { c.calls(ctx) })
	}
	move(t, store, backends, channels, *count)
	cancel()
	running.Wait()
	for _, c := range channels {
		t.Logf("%-70s %7d calls, %4d failed", c.name, c.total.Load(), c.failed)
		if c.failed > 0 {
			t.Errorf("%s: %d of %d calls failed during %d moves, the first with: %v", c.name, c.failed, c.total.Load(), *count, c.first)
		}
	}
}

// move moves the route n times. Each channel calls between two moves.
func move(t *testing.T, store *source.Memory, backends []string, channels []*channel, n int) {
	t.Helper()
	for i := range n {
		for _, c := range channels {
			if c.probes {
				c.probe(t, strconv.Itoa((i+1)%len(backends)))
			}
		}
		tx := new(source.Tx)
		putRoutes(t, tx, cluster(i+1), cluster(i+2))
		putCluster(t, tx, cluster(i+1), 2*i+1, backends[(i+1)%len(backends)])
		putCluster(t, tx, cluster(i+2), 2*i, backends[(i+2)%len(backends)])
		deleteCluster(tx, cluster(i))
		commit(t, store, tx)
		before := make([]int64, len(channels))
		for j, c := range channels {
			before[j] = c.total.Load()
		}
		pause := rand.N(shortPause)
		if rand.IntN(2) == 0 {
			pause += longPause - shortPause
		}
		<-time.NewTimer(pause).C
		for j, c := range channels {
			for c.total.Load() < before[j]+2 { // one of them began after the commit
				<-time.NewTimer(pace).C
			}
		}
	}
}

// cluster returns the name of a cluster. Names come back, as those of services do.
func cluster(i int) string { return fmt.Sprintf("cluster-%d", i%5) }

func commit(t *testing.T, store *source.Memory, tx *source.Tx) {
	t.Helper()
	if _, err := store.Commit(t.Context(), tx); err != nil {
		t.Fatal(err)
	}
}

func dialGo(t *testing.T, addr, service string) *grpc.ClientConn {
	t.Helper()
	resolver, err := xds.NewXDSResolverWithConfigForTesting(bootstrapOf(addr, "grpc-go", whole))
	if err != nil {
		t.Fatal(err)
	}
	cc, err := grpc.NewClient("xds:///"+service, grpc.WithResolvers(resolver), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cc.Close() })
	return cc
}

func dialOurs(t *testing.T, addr, service, variant string) *grpc.ClientConn {
	t.Helper()
	config, err := bootstrap.Parse(bootstrapOf(addr, "grpcxds", variant))
	if err != nil {
		t.Fatal(err)
	}
	env, err := xdsforge.NewEnv(xdsforge.WithBootstrap(config), xdsforge.WithTypes(grpcxds.Register))
	if err != nil {
		t.Fatal(err)
	}
	cc, err := grpcxds.Dialer{Env: env}.NewClient("xds:///"+service, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cc.Close()
		_ = env.Close()
	})
	return cc
}

// A channel calls without pause, and counts.
type channel struct {
	name   string
	conn   *grpc.ClientConn
	probes bool // the next cluster is called before each move

	total  atomic.Int64
	failed int
	first  error
}

// call returns the name of the backend that answers.
func (c *channel) call(ctx context.Context, opts ...grpc.CallOption) (who string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	var reply wrapperspb.StringValue
	err = c.conn.Invoke(ctx, "/xdsforge.Moves/Call", new(emptypb.Empty), &reply, opts...)
	return reply.GetValue(), err
}

// probe calls the next cluster, until its backend answers.
func (c *channel) probe(t *testing.T, backend string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), "probe", "1"), time.Minute)
	defer cancel()
	for {
		who, err := c.call(ctx)
		if who == backend {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("%s: the next cluster does not answer: %v", c.name, err)
		}
	}
}

// calls calls until ctx ends.
func (c *channel) calls(ctx context.Context) {
	for ctx.Err() == nil {
		_, err := c.call(context.WithoutCancel(ctx))
		c.total.Add(1)
		if err != nil {
			c.failed++
			c.first = cmp.Or(c.first, err)
		}
		<-time.NewTimer(pace).C
	}
}
