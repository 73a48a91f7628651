package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/internal/ads"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/transport"
)

// The tests of this file are about time. They run on a clock of their own, which
// needs a transport without a network.

// memory is that transport, and the control plane behind it.
type memory struct {
	streams chan *memoryStream // the control plane's side of each stream

	mu     sync.Mutex
	refuse error
	open   int // connections

	client *client.Client // a transport may refer to its client
}

func newMemory() *memory { return &memory{streams: make(chan *memoryStream, 10)} }

func (m *memory) setRefuse(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refuse = err
}

func (m *memory) connections() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.open
}

// Dial implements [transport.Transport].
func (m *memory) Dial(*bootstrap.Server) (transport.Conn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open++
	return m, nil
}

// OpenStream implements [transport.Conn].
func (m *memory) OpenStream(ctx context.Context, _ string) (transport.Stream, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refuse != nil {
		return nil, m.refuse
	}
	s := &memoryStream{ctx: ctx, requests: make(chan []byte), responses: make(chan []byte)}
	m.streams <- s
	return s, nil
}

// Close implements [transport.Conn].
func (m *memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open--
	return nil
}

type memoryStream struct {
	ctx                 context.Context //nolint:containedctx // the stream's
	requests, responses chan []byte
	sending             []byte // the request that the control plane has not read, or the last one
	last                []byte // the last response
}

// Send implements [transport.Stream]. It blocks until the control plane reads.
func (s *memoryStream) Send(msg []byte) error {
	s.sending = msg
	select {
	case s.requests <- msg:
		return nil
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

// Receive implements [transport.Stream]. It destroys the last response, as gRPC reuses the memory.
func (s *memoryStream) Receive() ([]byte, error) {
	for i := range s.last {
		s.last[i] = 0xff
	}
	select {
	case msg, ok := <-s.responses:
		if !ok {
			return nil, io.EOF
		}
		s.last = msg
		return msg, nil
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
}

func parse(t *testing.T, b []byte) *discoveryv3.DiscoveryRequest {
	t.Helper()
	r := new(discoveryv3.DiscoveryRequest)
	if err := proto.Unmarshal(b, r); err != nil {
		t.Error(err)
	}
	return r
}

// next is the next request.
func (s *memoryStream) next(t *testing.T) *discoveryv3.DiscoveryRequest {
	t.Helper()
	return parse(t, receive(t.Context(), t, "a request", s.requests))
}

func (s *memoryStream) respond(t *testing.T, r *discoveryv3.DiscoveryResponse) {
	t.Helper()
	b, err := proto.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	s.responses <- b
}

// serve brings a resource whenever it is subscribed to, until the stream ends.
func (s *memoryStream) serve(t *testing.T, m proto.Message) {
	subscribed := false
	for s.ctx.Err() == nil {
		select {
		case <-s.ctx.Done():
		case b := <-s.requests:
			r := parse(t, b)
			if now := len(r.GetResourceNames()) > 0; now != subscribed {
				subscribed = now
				if now {
					s.respond(t, &discoveryv3.DiscoveryResponse{
						VersionInfo: "1", Nonce: "n", TypeUrl: r.GetTypeUrl(), Resources: []*anypb.Any{anyOf(t, m)},
					})
				}
			}
		}
	}
}

// pass advances time and waits until all goroutines are idle.
func pass(d time.Duration) {
	<-time.NewTimer(d).C
	synctest.Wait()
}

// newMemoryClient is a client with the default times, of one control plane.
func newMemoryClient(t *testing.T, m *memory, types ...*resource.Descriptor) *client.Client {
	t.Helper()
	set, err := resource.NewSet(types...)
	if err != nil {
		t.Fatal(err)
	}
	steady := ads.DefaultBackoff
	steady.Jitter = 0
	c, err := newWith(oneServer(t, "memory:1", "fail_on_data_errors"), set, withTransport(m), withBackoff(steady))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // it returns the error of a connection, which has none
	return c
}

func TestResourceThatNeverComesDoesNotExist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		c := newMemoryClient(t, m, clusters)
		began := time.Now()
		f := follow(t.Context(), t, c, clusters, "a")
		(<-m.streams).next(t)
		f.failed(resource.ErrNotFound)
		if waited := time.Since(began); waited != 15*time.Second {
			t.Errorf("it did not exist after %v, want 15s", waited)
		}
	})
}

func TestWhatIsNotWatchedNeedsNoStreamAndNoConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		c := newMemoryClient(t, m, clusters)
		get := func() {
			t.Helper()
			if _, err := get(t.Context(), c, clusters, "a"); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			var s *memoryStream
			go func() {
				s = <-m.streams
				s.serve(t, cluster("a", "1"))
			}()
			get()
			pass(59 * time.Second)
			get()
			pass(59 * time.Second)
			if s.ctx.Err() != nil {
				t.Fatal("the stream was ended although something was watched within a minute")
			}
			pass(time.Second)
			if s.ctx.Err() == nil {
				t.Error("a stream on which nothing is watched is kept")
			}
			pass(10*time.Minute - time.Second)
			if n := m.connections(); n != 1 {
				t.Errorf("%d connections; want one, for the idle time", n)
			}
			pass(time.Second)
			if n := m.connections(); n != 0 {
				t.Errorf("%d connections that nobody uses", n)
			}
		}
	})
}

func TestTroubleOfLongAgoIsNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.setRefuse(errors.New("refused"))
		c := newMemoryClient(t, m, clusters)
		get := func() error {
			_, err := get(t.Context(), c, clusters, "a")
			return err
		}
		for range 2 { // the second within the pause after the first
			if err := get(); !errors.Is(err, resource.ErrTransport) {
				t.Fatalf("Get = %v, want ErrTransport", err)
			}
		}
		m.setRefuse(nil)
		pass(time.Hour)
		go func() { (<-m.streams).serve(t, cluster("a", "1")) }()
		if err := get(); err != nil {
			t.Errorf("Get = %v, an hour after the control plane came back", err)
		}
	})
}

// A response of a type that the stream did not request has no effect. It does not remove resources
// either.
func TestResponseBeforeItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listeners := &resource.Descriptor{
			Name: "envoy.config.listener.v3.Listener", Complete: true, Decode: decodeCluster, NewShard: newShard, PeekName: clusters.PeekName,
		}
		m := newMemory()
		c := newMemoryClient(t, m, clusters, listeners)
		followers := map[string]*follower{
			clusters.URL():  follow(t.Context(), t, c, clusters, "a"),
			listeners.URL(): follow(t.Context(), t, c, listeners, "a"),
		}
		body, err := proto.Marshal(cluster("a", "1")) // the test's decoder takes it for either
		if err != nil {
			t.Fatal(err)
		}
		first := <-m.streams
		for answered := 0; answered < len(followers); {
			if r := first.next(t); r.GetResponseNonce() == "" {
				answered++
				first.respond(t, &discoveryv3.DiscoveryResponse{
					VersionInfo: "1", Nonce: "n", TypeUrl: r.GetTypeUrl(),
					Resources: []*anypb.Any{{TypeUrl: r.GetTypeUrl(), Value: body}},
				})
			}
		}
		for _, f := range followers {
			f.value("1")
		}
		close(first.responses)

		second := <-m.streams
		synctest.Wait() // one request is being sent, the other waits for it
		for url, f := range followers {
			if url == parse(t, second.sending).GetTypeUrl() {
				continue
			}
			second.respond(t, &discoveryv3.DiscoveryResponse{VersionInfo: "2", Nonce: "m", TypeUrl: url})
			synctest.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if s, err := f.o.Next(ctx); err == nil {
				t.Errorf("a response to nothing was taken for a removal: %v, %v", s.Update, s.Err)
			}
			cancel()
		}
	})
}

// A client keeps nothing of the memory of a response: the stream destroys it. Members of a collection have names
// that no program has passed to the client.
func TestNothingSharesTheMemoryOfAResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		c := newMemoryClient(t, m, allClusters)
		o, err := c.ObserveCollection(allClusters, resource.Wildcard)
		if err != nil {
			t.Fatal(err)
		}
		defer o.Stop()
		s := <-m.streams
		s.next(t)
		names := []string{"first", "second"}
		s.respond(t, &discoveryv3.DiscoveryResponse{
			TypeUrl: clusterType, VersionInfo: "1", Nonce: "1",
			Resources: []*anypb.Any{anyOf(t, cluster(names[0], "a")), anyOf(t, cluster(names[1], "b"))},
		})
		s.next(t)         // the ACK
		pass(time.Minute) // nobody takes the members: then the client reads on
		var got []string
		for shard := range c.Shards(allClusters) {
			for u := range shard.All() {
				got = append(got, u.Name().String())
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, names) {
			t.Errorf("the cached clusters are %q, want %q", got, names)
		}
	})
}

// The first garbage collection after Close frees a client, even if its last timers have not expired yet.
func TestClosedClientIsFreed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed := func() weak.Pointer[client.Client] {
			m := newMemory()
			set, err := resource.NewSet(allClusters)
			if err != nil {
				t.Fatal(err)
			}
			c, err := newWith(oneServer(t, "memory:1"), set, withTransport(m))
			if err != nil {
				t.Fatal(err)
			}
			m.client = c
			var told sync.WaitGroup
			var first, second []*anypb.Any // versions
			for i := range 100 {
				told.Add(2)
				name := fmt.Sprint("cluster ", i)
				first, second = append(first, anyOf(t, cluster(name, "a"))), append(second, anyOf(t, cluster(name, "b")))
				if _, err := allClusters.Handle().Subscribe(c, name, func(resource.Event[resource.Update]) { told.Done() }); err != nil {
					t.Fatal(err)
				}
			}
			s := <-m.streams
			go func() {
				for {
					select {
					case <-s.requests:
					case <-s.ctx.Done():
						return
					}
				}
			}()
			synctest.Wait()
			for i, resources := range [][]*anypb.Any{first, second} {
				s.respond(t, &discoveryv3.DiscoveryResponse{TypeUrl: clusterType, VersionInfo: fmt.Sprint(i), Nonce: fmt.Sprint(i), Resources: resources})
				synctest.Wait()
			}
			told.Wait()
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			return weak.Make(c)
		}()
		synctest.Wait()
		runtime.GC()
		if closed.Value() != nil {
			t.Error("the client is still in memory")
		}
	})
}

// A watcher of an alias hears nothing of the same bytes, even if the name in them is watched in the meantime.
func TestAliasIsNotNotifiedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		c := newMemoryClient(t, m, endpoints)
		var seen []resource.Event[resource.Update]
		_, err := endpoints.Handle().Subscribe(c, "alias", func(e resource.Event[resource.Update]) { seen = append(seen, e) })
		if err != nil {
			t.Fatal(err)
		}
		s := <-m.streams
		s.next(t)
		wrapped := func() []*anypb.Any {
			return []*anypb.Any{anyOf(t, &discoveryv3.Resource{Name: "real", Aliases: []string{"alias"}, Version: "1", Resource: anyOf(t, assignment("real", 1))})}
		}
		url := "type.googleapis.com/" + endpointName
		s.respond(t, &discoveryv3.DiscoveryResponse{TypeUrl: url, VersionInfo: "1", Nonce: "1", Resources: wrapped()})
		s.next(t) // ACK
		synctest.Wait()
		if len(seen) != 1 {
			t.Fatalf("events %v", seen)
		}
		var named int
		if _, err := endpoints.Handle().Subscribe(c, "real", func(resource.Event[resource.Update]) { named++ }); err != nil {
			t.Fatal(err)
		}
		s.next(t)
		s.respond(t, &discoveryv3.DiscoveryResponse{TypeUrl: url, VersionInfo: "1", Nonce: "2", Resources: wrapped()})
		s.next(t)
		pass(time.Second)
		if named != 1 || len(seen) != 1 {
			t.Errorf("the name has %d events, the alias %d; want 1, 1", named, len(seen))
		}
	})
}
