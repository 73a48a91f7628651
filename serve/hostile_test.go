package serve_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/serve"
)

// expectEnd receives until the stream ends, and checks the end.
func expectEnd(t *testing.T, s grpc.ClientStream, want string) {
	t.Helper()
	var err error
	for err == nil {
		err = s.RecvMsg(new(discoveryv3.DeltaDiscoveryResponse))
	}
	if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), want) {
		t.Errorf("the stream ends with %v, want RESOURCE_EXHAUSTED about %s", err, want)
	}
}

// Each attack ends its stream with an error that names the limit. Another client is served as before,
// and nothing of the attack remains.
func TestHostileClients(t *testing.T) {
	names := func(first, n, length int) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprintf("%0*d", length, first+i))
		}
		return list
	}
	subscribe := func(s deltaStream, list ...string) error {
		return s.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, ResourceNamesSubscribe: list})
	}
	for limit, attack := range map[string]struct {
		limits serve.Limits
		send   func(s deltaStream, i int) error // until it returns an error
	}{
		"Limits.Names": {serve.Limits{}, func(s deltaStream, i int) error {
			return subscribe(s, names(i*10_000, 10_000, 8)...) // 10^6 names
		}},
		"Limits.TotalBytes": {serve.Limits{}, func(s deltaStream, i int) error {
			return subscribe(s, names(i*100, 100, 8192)...) // 8 kB names
		}},
		"Limits.NameBytes": {serve.Limits{}, func(s deltaStream, _ int) error { return subscribe(s, names(0, 1, 8193)...) }},
		"Limits.Collections": {serve.Limits{}, func(s deltaStream, i int) error {
			list := names(i*1000, 1000, 8)
			for j := range list {
				list[j] = "xdstp://a/envoy.config.cluster.v3.Cluster/" + list[j] + "/*"
			}
			return subscribe(s, list...)
		}},
		"Limits.Types": {serve.Limits{Types: 1}, func(s deltaStream, i int) error {
			return s.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: []string{clusterURL, strings.Replace(clusterURL, "cluster.v3.Cluster", "listener.v3.Listener", 1)}[i%2]})
		}},
		"Limits.Requests": {serve.Limits{}, func(s deltaStream, _ int) error {
			return s.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: "type.googleapis.com/unknown.Type", ResourceNamesSubscribe: []string{"a"}})
		}},
		"Limits.Bytes": {serve.Limits{}, func(s deltaStream, _ int) error {
			return s.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: "type.googleapis.com/unknown.Type", ResourceNamesSubscribe: names(0, 100, 8192)})
		}},
		"Limits.RequestBytes": {serve.Limits{RequestBytes: 1000}, func(s deltaStream, _ int) error { return subscribe(s, names(0, 200, 8)...) }},
		"Limits.ClientNames": {serve.Limits{ClientNames: 50}, func(s deltaStream, i int) error {
			return subscribe(s, names(i*10, 10, 8)...)
		}},
		"Limits.ClientBytes": {serve.Limits{ClientBytes: 5000}, func(s deltaStream, i int) error {
			return subscribe(s, names(i*10, 10, 100)...)
		}},
	} {
		t.Run(limit, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, nil, serve.WithLimits(attack.limits))
				b.put(b.main, "a", "one")
				victim := b.delta(b.dial(""))
				if err := subscribe(victim, "a"); err != nil {
					t.Fatal(err)
				}
				if _, err := victim.Recv(); err != nil {
					t.Fatal(err)
				}
				s := b.delta(b.dial(""))
				sent := make(chan struct{})
				go func() {
					defer close(sent)
					for i := 0; attack.send(s, i) == nil; i++ {
					}
				}()
				expectEnd(t, s, limit)
				<-sent
				b.put(b.main, "a", "two")
				if r, err := victim.Recv(); err != nil || len(r.GetResources()) != 1 {
					t.Errorf("the other client receives %v, %v; want a", r, err)
				}
				pass(time.Second)
				open := 0
				for range b.server.Clients() {
					open++
				}
				if open != 1 {
					t.Errorf("%d streams, want that of the other client", open)
				}
			})
		})
	}
}

// A client may use its rate without end.
func TestRateOfRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, serve.WithLimits(serve.Limits{Requests: 2}))
		s := b.delta(b.dial(""))
		send := func() error {
			return s.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: "type.googleapis.com/unknown.Type"})
		}
		for range 1000 {
			if err := send(); err != nil {
				t.Fatalf("at half a second a request: %v", err)
			}
			pass(time.Second / 2)
		}
		for range 25 { // the burst is 20
			_ = send() // the stream may have ended
		}
		expectEnd(t, s, "requests a second of the stream = 3; must not be more than 2 (Limits.Requests)")
	})
}

// Streams are limited by client and in total. The end of one makes room.
func TestLimitsOfStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		authority := ca(t)
		b := newBench(t, authority, serve.WithLimits(serve.Limits{Streams: 3, ClientStreams: 2}))
		one, two := b.dial(cart), b.dial("spiffe://example.com/other")
		open := func(cc *grpc.ClientConn) deltaStream {
			t.Helper()
			s := b.delta(cc)
			if err := s.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, ResourceNamesSubscribe: []string{"a"}}); err != nil {
				t.Fatal(err)
			}
			return s
		}
		first := open(one)
		open(one)
		pass(time.Second)
		expectEnd(t, b.delta(one), "Limits.ClientStreams")
		open(two)
		pass(time.Second)
		expectEnd(t, b.delta(two), "streams of the server = 4; must not be more than 3 (Limits.Streams)")
		if err := first.CloseSend(); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		s := open(one)
		if _, err := s.Recv(); err != nil {
			t.Errorf("after the end of a stream, another one of the client fails: %v", err)
		}
	})
}

// Requests of types that the server does not serve leave nothing behind.
func TestUnknownTypes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		s := b.delta(b.dial(""))
		for i := range 5000 {
			if err := s.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: fmt.Sprintf("type.googleapis.com/unknown.Type%d", i), ResourceNamesSubscribe: []string{"a"}}); err != nil {
				t.Fatal(err)
			}
		}
		pass(time.Second)
		for c := range b.server.Clients() {
			if len(c.Types) != 0 {
				t.Errorf("the client has %d types, want none", len(c.Types))
			}
		}
	})
}

// Clients that never read cost their names, however often the resources change.
func TestClientsThatNeverRead(t *testing.T) {
	const clients, names, changes = 100, 100, 400
	b := newBench(t, nil)
	commit := func(round int) {
		tx := new(source.Tx)
		for i := range names {
			tx.Put(source.Resource{Key: source.Key{Type: clusterURL, Name: fmt.Sprint(i)}, Body: fmt.Append(nil, "\x0a\x01", round, strings.Repeat("x", 1000))})
		}
		if _, err := b.main.Commit(t.Context(), tx); err != nil {
			t.Fatal(err)
		}
	}
	commit(0)
	cc := b.dial("", grpc.WithStaticStreamWindowSize(1<<16)) // otherwise, the clients buffer what they do not read
	list := make([]string, 0, names)
	for i := range names {
		list = append(list, fmt.Sprint(i))
	}
	reader := b.delta(cc)
	for i := range clients {
		s := reader
		if i > 0 {
			s = b.delta(cc)
		}
		if err := s.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, ResourceNamesSubscribe: list}); err != nil {
			t.Fatal(err)
		}
	}
	newest := func(round int) {
		t.Helper()
		want := fmt.Sprint("\x0a\x01", round)
		for seen := make(map[string]bool); len(seen) < names; {
			r, err := reader.Recv()
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range r.GetResources() {
				if strings.HasPrefix(string(x.GetResource().GetValue()), want) {
					seen[x.GetName()] = true
				}
			}
		}
	}
	newest(0)
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for round := range changes {
		commit(round + 1)
		newest(round + 1)
	}
	if grown := int64(heap()) - int64(before); grown > 32<<20 {
		t.Errorf("the heap has grown by %d MiB after %d MiB of changes for each client, want at most 32", grown>>20, changes*names*1000>>20)
	}
}
