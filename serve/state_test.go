package serve_test

import (
	"errors"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/serve"
)

// safeDir returns a directory that only the user can write to.
func safeDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// fill commits clusters at a revision of a store, by name with their services. An empty service deletes the
// cluster. The source is live afterwards.
func fill(t *testing.T, m *source.Memory, revision source.Revision, services map[string]string) {
	t.Helper()
	tx := new(source.Tx)
	for name, service := range services {
		k := source.Key{Type: clusterURL, Name: name}
		if service == "" {
			tx.Delete(k)
			continue
		}
		body, err := proto.Marshal(eds(name, service))
		if err != nil {
			t.Fatal(err)
		}
		tx.Put(source.Resource{Key: k, Body: body})
	}
	if err := m.CommitAt(t.Context(), tx, "epoch", revision); err != nil {
		t.Fatal(err)
	}
	m.SetState(source.State{Kind: source.Live})
	synctest.Wait()
}

// A cache is a client of the delta protocol that keeps its resources over several streams.
type cache struct {
	t        *testing.T
	names    []string
	mu       sync.Mutex // of versions and got
	versions map[string]string
	got      []string // names that it has received, or whose removal or error it has received
	stream   deltaStream
	stop     chan struct{}
}

// connect opens a stream to a server, with the versions that the cache has.
func (c *cache) connect(b *bench) {
	c.t.Helper()
	c.stream, c.stop = b.delta(b.dial("")), make(chan struct{})
	if err := c.stream.Send(&discoveryv3.DeltaDiscoveryRequest{
		Node: node("n"), TypeUrl: clusterURL, ResourceNamesSubscribe: c.names, InitialResourceVersions: c.versions,
	}); err != nil {
		c.t.Fatal(err)
	}
	stream, stop := c.stream, c.stop
	go func() {
		defer close(stop)
		for {
			r, err := stream.Recv()
			if err != nil {
				return
			}
			c.mu.Lock()
			for _, x := range r.GetResources() {
				c.got, c.versions[x.GetName()] = append(c.got, x.GetName()), x.GetVersion()
			}
			for _, name := range r.GetRemovedResources() {
				c.got = append(c.got, "removed "+name)
				delete(c.versions, name)
			}
			for _, e := range r.GetResourceErrors() {
				code := codes.Code(e.GetErrorDetail().GetCode())
				c.got = append(c.got, e.GetResourceName().GetName()+": "+code.String())
			}
			c.mu.Unlock()
			_ = stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, ResponseNonce: r.GetNonce()}) // or the stream ends
		}
	}()
	synctest.Wait()
}

// receives checks what the cache has received since the last call.
func (c *cache) receives(when string, want ...string) {
	c.t.Helper()
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.Sort(c.got)
	if !slices.Equal(c.got, want) {
		c.t.Errorf("%s: the client receives %q, want %q", when, c.got, want)
	}
	c.got = nil
}

// A server that starts while its source is down serves what the last process had, in the same versions. Its clients
// receive only the differences, then and when the source is there again.
func TestStateDir(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := safeDir(t)
		option := serve.WithStateDir(dir, []byte("0123456789abcdef"))
		first := newBench(t, nil, option)
		fill(t, first.main, 20, map[string]string{"a": "one", "b": "one"})
		c := &cache{t: t, names: []string{"a", "b", "c"}, versions: make(map[string]string)}
		c.connect(first)
		c.receives("first process", "a", "b", "removed c")
		pass(time.Minute)
		first.stop()
		<-c.stop

		down := source.NewMemory()
		down.SetState(source.State{})
		down.SetState(source.State{Kind: source.Down, Err: errors.New("no route")})
		second := newBenchOf(t, down, nil, option)
		pass(time.Second)
		if err := second.server.Healthy(); err != nil {
			t.Errorf("Healthy = %v with a state directory, want nil", err)
		}
		before := maps.Clone(c.versions)
		c.connect(second)
		c.receives("second process, source down", "c: Unavailable")
		if !maps.Equal(c.versions, before) {
			t.Errorf("versions = %v, want %v", c.versions, before)
		}
		fresh := &cache{t: t, names: []string{"a"}, versions: make(map[string]string)}
		fresh.connect(second)
		fresh.receives("another client, source down", "a")
		fill(t, down, 30, map[string]string{"a": "one", "b": "two"})
		c.receives("source live", "b")
		pass(time.Second)
		c.receives("a second later", "removed c")
		fresh.receives("source live, no change")
		fill(t, down, 31, map[string]string{"a": "two"})
		c.receives("later change", "a")
		fresh.receives("later change", "a")
		second.stop()
		<-c.stop
		<-fresh.stop
	})
}

// Without a state directory, a server whose source is down refuses streams.
func TestNoStateDir(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := source.NewMemory()
		down.SetState(source.State{})
		b := newBenchOf(t, down, nil)
		early := &cache{t: t, names: []string{"a"}, versions: make(map[string]string)}
		early.connect(b)
		down.SetState(source.State{Kind: source.Down, Err: errors.New("no route")})
		early.receives("stream that opened before the source was down")
		if b.server.Healthy() == nil {
			t.Error("Healthy = nil without resources, want an error")
		}
		if err := end(b.open("a")); err == nil {
			t.Error("the server opens a stream without resources")
		}
		b.stop()
		<-early.stop
	})
}

// A server that knows only its state directory tells clients of nothing that it is gone, and sends no response in state
// of the world that lacks what the client may have. A client without resources receives those of the directory.
func TestStateDirRemovesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		option := serve.WithStateDir(safeDir(t), nil)
		first := newBench(t, nil, option)
		fill(t, first.main, 20, map[string]string{"a": "one"})
		pass(time.Minute)
		first.stop()

		down := source.NewMemory()
		down.SetState(source.State{})
		down.SetState(source.State{Kind: source.Down, Err: errors.New("no route")})
		b := newBenchOf(t, down, nil, option)
		c := &cache{t: t, names: []string{"*"}, versions: map[string]string{"a": "old", "young": "1-1"}}
		fresh := &cache{t: t, names: []string{"*"}, versions: make(map[string]string)}
		c.connect(b)
		fresh.connect(b)
		pass(time.Minute)
		c.receives("client with a resource that the file lacks", "a")
		fresh.receives("client without resources", "a")
		whole := b.whole(b.dial(""))
		responses := make(chan int, 10)
		go func() {
			defer close(responses)
			for {
				r, err := whole.Recv()
				if err != nil {
					return
				}
				responses <- len(r.GetResources())
			}
		}()
		if err := whole.Send(&discoveryv3.DiscoveryRequest{Node: node("n"), TypeUrl: clusterURL, VersionInfo: "epoch-l"}); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		if n := len(responses); n > 0 {
			t.Errorf("state of the world: the server, without its source, sends %d responses to a client with resources, want none", n)
		}
		fill(t, down, 30, map[string]string{"a": "one", "young": "one"})
		if n := <-responses; n != 2 {
			t.Errorf("state of the world: the source is live, and the server sends %d resources, want 2", n)
		}
		c.receives("source live", "young")
		fresh.receives("source live", "young")
		b.stop()
		<-c.stop
		<-fresh.stop
		for range responses {
		}
	})
}
