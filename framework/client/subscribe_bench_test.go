package client_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/transport"
)

// deafTransport opens no stream, so that a benchmark measures the client alone.
type deafTransport struct{}

// Dial implements [transport.Transport].
func (deafTransport) Dial(*bootstrap.Server) (transport.Conn, error) { return deafTransport{}, nil }

// OpenStream implements [transport.Conn].
func (deafTransport) OpenStream(ctx context.Context, _ string) (transport.Stream, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// Close implements [transport.Conn].
func (deafTransport) Close() error { return nil }

// BenchmarkSubscribe subscribes to new names until the loop has handled all of them.
func BenchmarkSubscribe(b *testing.B) {
	names := make([]string, 20_000)
	for i := range names {
		names[i] = "name-" + strconv.Itoa(i)
	}
	b.ReportAllocs()
	for left := b.N; left > 0; left -= len(names) {
		b.StopTimer()
		c := newClientOf(b, oneServer(b, "memory:1"), []*resource.Descriptor{things}, withTransport(deafTransport{}))
		typ := things.Handle()
		b.StartTimer()
		for _, name := range names[:min(left, len(names))] {
			if _, err := typ.Subscribe(c, name, func(resource.Event[resource.Update]) {}); err != nil {
				b.Fatal(err)
			}
		}
		c.Drain()
		b.StopTimer()
		if err := c.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// An allTransport answers each request that is longer than all before with one prepared response.
type allTransport struct{ response []byte }

// Dial implements [transport.Transport].
func (t allTransport) Dial(*bootstrap.Server) (transport.Conn, error) { return t, nil }

// OpenStream implements [transport.Conn].
func (t allTransport) OpenStream(ctx context.Context, _ string) (transport.Stream, error) {
	return &allStream{ctx: ctx, response: t.response, due: make(chan struct{}, 1)}, nil
}

// Close implements [transport.Conn].
func (allTransport) Close() error { return nil }

type allStream struct {
	ctx      context.Context
	response []byte
	due      chan struct{}
	longest  int
}

// Send implements [transport.Stream].
func (s *allStream) Send(msg []byte) error {
	if len(msg) > s.longest+100 { // longer by a name, and not by a nonce only
		s.longest = len(msg)
		select {
		case s.due <- struct{}{}:
		default:
		}
	}
	return nil
}

// Receive implements [transport.Stream].
func (s *allStream) Receive() ([]byte, error) {
	select {
	case <-s.due:
		return s.response, nil
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
}

// BenchmarkReceive subscribes to 10,000 names and waits until all subscribers have an update.
func BenchmarkReceive(b *testing.B) {
	const n = 10_000
	names := make([]string, n)
	resp := &discoveryv3.DiscoveryResponse{VersionInfo: "1", Nonce: "1", TypeUrl: things.URL()}
	for i := range names {
		names[i] = fmt.Sprintf("name-%0100d", i)
		resp.Resources = append(resp.Resources, &anypb.Any{TypeUrl: things.URL(), Value: []byte(names[i] + "|1")})
	}
	raw, err := proto.Marshal(resp)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		c := newClientOf(b, oneServer(b, "memory:1"), []*resource.Descriptor{things}, withTransport(allTransport{raw}))
		var told sync.WaitGroup
		told.Add(n)
		for _, name := range names {
			if _, err := things.Handle().Subscribe(c, name, func(resource.Event[resource.Update]) { told.Done() }); err != nil {
				b.Fatal(err)
			}
		}
		told.Wait()
		if err := c.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// A pushTransport has one stream, which sends the responses that it is given and reports each request.
type pushTransport struct {
	responses chan []byte
	requests  chan struct{}
}

// Dial implements [transport.Transport].
func (t pushTransport) Dial(*bootstrap.Server) (transport.Conn, error) { return t, nil }

// OpenStream implements [transport.Conn].
func (t pushTransport) OpenStream(ctx context.Context, _ string) (transport.Stream, error) {
	return pushStream{t, ctx}, nil
}

// Close implements [transport.Conn].
func (pushTransport) Close() error { return nil }

type pushStream struct {
	pushTransport
	ctx context.Context
}

// Send implements [transport.Stream].
func (s pushStream) Send([]byte) error {
	select {
	case s.requests <- struct{}{}:
		return nil
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

// Receive implements [transport.Stream].
func (s pushStream) Receive() ([]byte, error) {
	select {
	case msg := <-s.responses:
		return msg, nil
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
}

// thingResponse is a response with one version of the resource "name".
func thingResponse(t testing.TB, version string) []byte {
	t.Helper()
	raw, err := proto.Marshal(&discoveryv3.DiscoveryResponse{
		VersionInfo: version, Nonce: version, TypeUrl: things.URL(),
		Resources: []*anypb.Any{{TypeUrl: things.URL(), Value: []byte("name|" + version)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestChangeWakesNoLoop expects the reader of a stream and the goroutines of requests to run the loop at each step of a change.
func TestChangeWakesNoLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		push := pushTransport{responses: make(chan []byte), requests: make(chan struct{})}
		c := newClientOf(t, oneServer(t, "memory:1"), []*resource.Descriptor{things}, withTransport(push))
		wakes, told := c.CountWakes(), ""
		if _, err := things.Handle().Subscribe(c, "name", func(ev resource.Event[resource.Update]) { told = string(ev.Update.Raw()) }); err != nil {
			t.Fatal(err)
		}
		<-push.requests
		synctest.Wait()
		if *wakes == 0 {
			t.Error("a subscription has not woken the loop")
		}
		for i := range 4 {
			*wakes = 0
			version := strconv.Itoa(i)
			push.responses <- thingResponse(t, version)
			synctest.Wait()
			<-push.requests // the ACK
			synctest.Wait()
			most := 0
			if i == 0 {
				most = 1 // the first response continues paused timers
			}
			if want := "name|" + version; *wakes > most || told != want {
				t.Errorf("response %d woke the loop %d times, and the watcher has %q; want at most %d times, and %q", i, *wakes, told, most, want)
			}
		}
	})
}

// BenchmarkChange changes one resource. It waits for the callback and the ACK.
func BenchmarkChange(b *testing.B) {
	raw := [2][]byte{thingResponse(b, "0"), thingResponse(b, "1")}
	t := pushTransport{responses: make(chan []byte), requests: make(chan struct{})}
	c := newClientOf(b, oneServer(b, "memory:1"), []*resource.Descriptor{things}, withTransport(t))
	told := make(chan struct{}, 1)
	if _, err := things.Handle().Subscribe(c, "name", func(resource.Event[resource.Update]) { told <- struct{}{} }); err != nil {
		b.Fatal(err)
	}
	<-t.requests
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		t.responses <- raw[i%2]
		<-told
		<-t.requests
	}
}
