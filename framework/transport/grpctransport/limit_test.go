package grpctransport

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge/framework/transport"
)

// A server allows 100 streams on a connection, so a thousand streams need ten connections. Each
// stream beyond the first 100 waits once, not for each connection.
func TestThousandStreamsOnTenConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.serve(t, 100)
		c := m.dial(t)
		clients := opened(t, openAll(t, c, 1000, true))
		m.connections(t, 10, 10)
		for i, cl := range clients {
			if cl.took > 2*patience {
				t.Errorf("stream %d took %v, want one wait of %v and a step", i, cl.took, patience)
			}
		}
		rand.Shuffle(len(clients), func(i, j int) { clients[i], clients[j] = clients[j], clients[i] })
		for _, cl := range clients {
			cl.end()
		}
		m.connections(t, 10, 10)
		after(idleTime)
		m.connections(t, 10, 1)
	})
}

// Close ends all connections, also those with open streams, and the streams that wait.
func TestCloseWithWaitingStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.serve(t, 1)
		c := m.dial(t, WithMaxConnections(2))
		streams := opened(t, openAll(t, c, 2, true))
		waiting := make(chan []*client)
		go func() { waiting <- openAll(t, c, 10, true) }()
		after(patience / 2)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		for i, cl := range <-waiting {
			if cl.err == nil {
				t.Errorf("stream %d opened on a closed connection", i)
			}
		}
		streams[0].end()
		m.connections(t, 2, 0)
	})
}

// step is the precision of all waits.
const step = patience / 5

// wantNoStream checks the error of a server that granted no stream, and the time until it.
func wantNoStream(t *testing.T, err error, took time.Duration) {
	t.Helper()
	if !errors.Is(err, &transport.Error{Kind: KindNoStream}) || took < defaultStreamTimeout || took > defaultStreamTimeout+2*step {
		t.Errorf("error = %v after %v, want that of a server that grants no stream within %v", err, took, defaultStreamTimeout)
	}
}

func TestServerOfOneStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.serve(t, 1)
		c := m.dial(t)
		opened(t, openAll(t, c, 20, true)) // at the same time
		m.connections(t, 20, 20)
		for range 3 { // one after another
			opened(t, openAll(t, c, 1, true))
		}
		m.connections(t, 23, 23)
	})
}

// The transport opens a further connection after 100 ms, not before.
func TestWaitForTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.limit(t, 1)
		c := m.dial(t)
		first := opened(t, openAll(t, c, 1, false))
		second := make(chan []*client)
		go func() { second <- openAll(t, c, 1, false) }()
		after(patience - 1)
		m.connections(t, 1, 1)
		first[0].end() // makes room in time
		opened(t, <-second)
		m.connections(t, 1, 1)
		if took := opened(t, openAll(t, c, 1, false))[0].took; took < patience || took > 2*patience {
			t.Errorf("the stream on a further connection took %v, want %v and a step", took, patience)
		}
		m.connections(t, 2, 2)
	})
}

// Streams that exceed a lowered limit stay open. New streams use another connection.
func TestServerThatLowersItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		s := m.limit(t, 10)
		c := m.dial(t)
		streams := opened(t, openAll(t, c, 10, false))
		m.connections(t, 1, 1)
		setLimit(t, s, 2)
		streams[0].end()
		synctest.Wait()
		opened(t, openAll(t, c, 2, false))
		m.connections(t, 2, 2)
		for _, cl := range streams[1:9] {
			cl.end()
		}
		synctest.Wait()
		opened(t, openAll(t, c, 1, false)) // on the first connection again
		m.connections(t, 2, 2)
	})
}

// If a server lowers its limit to zero, further streams fail after the stream timeout. The
// transport then tries one connection at a time.
func TestServerThatLowersItsLimitToNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		s := m.limit(t, 10)
		c := m.dial(t)
		opened(t, openAll(t, c, 5, false))
		setLimit(t, s, 0)
		for range 3 {
			for _, cl := range openAll(t, c, 1, false) {
				wantNoStream(t, cl.err, cl.took)
			}
		}
		m.connections(t, 4, 1)
	})
}

// The limit on connections is enforced, and its error names it. A stream that ends makes room.
func TestLimitOnConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		s := m.limit(t, 2)
		c := m.dial(t, WithMaxConnections(4))
		streams := opened(t, openAll(t, c, 8, false))
		m.connections(t, 4, 4)
		for _, cl := range openAll(t, c, 5, false) {
			if !errors.Is(cl.err, &transport.Error{Kind: KindNoStream}) || !strings.Contains(cl.err.Error(), "4 connections, the limit of grpctransport.WithMaxConnections") {
				t.Errorf("error = %v, want one that names the limit", cl.err)
			}
			if cl.took > 2*(patience+step) {
				t.Errorf("the error took %v, want one wait on a connection and one on the others together", cl.took)
			}
		}
		if cl := openAll(t, c, 1, false)[0]; cl.err == nil || cl.took != 0 {
			t.Errorf("error = %v after %v, want one at once: streams have waited on each connection", cl.err, cl.took)
		}
		streams[3].end()
		synctest.Wait()
		opened(t, openAll(t, c, 1, false))
		if cl := openAll(t, c, 1, false)[0]; cl.err == nil || cl.took < patience || cl.took > 2*patience {
			t.Errorf("error = %v after %v, want one after a wait for the stream that came in between", cl.err, cl.took)
		}
		setLimit(t, s, 3)
		opened(t, openAll(t, c, 1, false)) // the server has raised its limit
		m.connections(t, 4, 4)
	})
}

// These are the times and numbers in the documentation.
func TestDefaultLimits(t *testing.T) {
	if patience != 100*time.Millisecond || idleTime != 10*time.Minute {
		t.Errorf("streams wait %v, connections stay %v; want 100ms and 10m", patience, idleTime)
	}
	for _, tr := range []*Transport{New(), New(WithMaxConnections(0))} {
		if tr.max != 100 {
			t.Errorf("max = %v, want 100", tr.max)
		}
	}
}

// The streams that wait for a server without free streams share a connection, whenever they begin
// to wait.
func TestManyStreamsOfAServerThatGrantsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.limit(t, 0)
		c := m.dial(t)
		const minutes = 5
		ctx, cancel := context.WithCancel(t.Context())
		defer time.AfterFunc(minutes*time.Minute, cancel).Stop()
		done := make(chan struct{})
		const clients = 100
		for i := range clients {
			go func() {
				defer func() { done <- struct{}{} }()
				after := time.NewTimer(time.Duration(i) * 200 * time.Millisecond)
				for {
					select {
					case <-after.C:
					case <-ctx.Done():
						return
					}
					began := time.Now()
					_, err := c.OpenStream(ctx, transport.MethodADS)
					if ctx.Err() == nil {
						wantNoStream(t, err, time.Since(began))
					}
					after.Reset(time.Second)
				}
			}()
		}
		for range clients {
			<-done
		}
		// The transport abandons a connection after 18 s to 20 s, and opens the next within a
		// second.
		if n := m.dialed.Load(); n < 2*minutes || n > 4*minutes {
			t.Errorf("%d connections in %d minutes, want one every 18 s to 21 s", n, minutes)
		}
	})
}

// A slow connection attempt does not count as a limit on streams.
func TestSlowDialIsNoLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.delay = 10 * time.Second
		m.serve(t, 2)
		m.dialed.Add(1) // the first dial is slow, too
		c := m.dial(t, WithStreamTimeout(m.delay/2))
		streams := opened(t, openAll(t, c, 2, true))
		m.connections(t, 2, 1)
		if took := streams[0].took; took != m.delay {
			t.Errorf("the stream took %v, want %v", took, m.delay)
		}
		waiting := make(chan []*client)
		go func() { waiting <- openAll(t, c, 2, true) }()
		after(m.delay)
		m.connections(t, 3, 1)
		opened(t, <-waiting)
		m.connections(t, 3, 2)
	})
}

// A slowToken is a call credential that takes time to return.
type slowToken struct{ takes time.Duration }

// GetRequestMetadata implements [credentials.PerRPCCredentials].
func (s *slowToken) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	<-time.NewTimer(s.takes).C
	return map[string]string{"authorization": "Bearer slow"}, nil
}

// RequireTransportSecurity implements [credentials.PerRPCCredentials].
func (*slowToken) RequireTransportSecurity() bool { return false }

// A stream that waits for its token does not count as waiting for the server's limit.
func TestSlowTokenIsNoLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.serve(t, 3)
		token := slowToken{}
		c := m.dial(t, WithDialOptions(grpc.WithPerRPCCredentials(&token)))
		opened(t, openAll(t, c, 1, true))
		token.takes = 10 * patience
		opened(t, openAll(t, c, 2, true))
		m.connections(t, 1, 1)
	})
}

// The transport keeps a further connection without streams for the idle time, and reuses it.
func TestIdleConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.serve(t, 1)
		c := m.dial(t)
		first := opened(t, openAll(t, c, 1, true))
		second := opened(t, openAll(t, c, 1, true))
		m.connections(t, 2, 2)
		second[0].end()
		after(idleTime - 1)
		second = opened(t, openAll(t, c, 1, true))
		second[0].end()
		after(idleTime - time.Second)
		m.connections(t, 2, 2) // the first connection has a stream, so the next stream uses the second
		first[0].end()
		after(idleTime - 1)
		m.connections(t, 2, 2)
		after(1)
		m.connections(t, 2, 1)
		after(24 * time.Hour)
		m.connections(t, 2, 1)
	})
}
