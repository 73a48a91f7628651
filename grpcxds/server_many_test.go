package grpcxds

import (
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// A server with 1,000 listeners serves calls on each, needs a bounded amount of memory for each, and leaves no goroutine when it stops.
func TestManyListenersOfOneServer(t *testing.T) {
	const listeners = 1000
	w := newWorld(t)
	resources := make(map[string]proto.Message)
	sockets := make([]net.Listener, 0, listeners)
	for range listeners {
		l, err := (&net.ListenConfig{}).Listen(w.ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		sockets = append(sockets, l)
		s := &site{world: w, name: "server/" + l.Addr().String(), port: l.Addr().(*net.TCPAddr).Port}
		m := new(listenerv3.Listener)
		if err := prototext.Unmarshal([]byte(s.listener(inline(anyRoute))), m); err != nil {
			t.Fatal(err)
		}
		resources[s.name] = m
	}
	if err := w.plane.Update(resources); err != nil {
		t.Fatal(err)
	}
	first := w.serve() // keeps the client of the Env
	w.publishListener(first.listener(inline(anyRoute)))
	first.awaitServing()
	goroutines, heap := runtime.NumGoroutine(), heapInUse()
	begun := time.Now()
	serving := make(chan error, listeners)
	c := ServerConfig{Env: w.env, ModeChanged: func(m ModeChange) {
		if m.Mode == Serving {
			serving <- nil
		} else if m.Err != nil {
			serving <- m.Err
		}
	}}
	s, err := c.NewServer()
	if err != nil {
		t.Fatal(err)
	}
	testpb.RegisterTestServiceServer(s, echo{})
	var all sync.WaitGroup
	for _, l := range sockets {
		all.Go(func() {
			if err := s.Serve(l); err != nil {
				t.Error(err)
			}
		})
	}
	for range listeners {
		if err := <-serving; err != nil {
			t.Error(err)
		}
	}
	started, startedGoroutines, startedHeap := time.Since(begun), runtime.NumGoroutine(), heapInUse()
	for _, l := range sockets {
		at := &site{world: w, addr: l.Addr().String()}
		cc := at.channel()
		if st := at.call(testpb.NewTestServiceClient(cc)); st.Code() != codes.OK {
			t.Errorf("a call to %s: %v", at.addr, st)
		}
		_ = cc.Close()
	}
	begun = time.Now()
	s.GracefulStop()
	all.Wait()
	stopped := time.Since(begun)
	left := runtime.NumGoroutine()
	for end := time.Now().Add(10 * time.Second); left > goroutines && time.Now().Before(end); left = runtime.NumGoroutine() {
		runtime.Gosched()
	}
	if left > goroutines {
		t.Errorf("%d goroutines are left; want %d", left, goroutines)
	}
	if each := (startedHeap - heap) / listeners; each > 128<<10 {
		t.Errorf("%d bytes for each listener; want at most 128 KiB", each)
	}
	if each := float64(startedGoroutines-goroutines) / listeners; each > 5 {
		t.Errorf("%.1f goroutines for each listener; want at most 5", each)
	}
	t.Logf("start %v, %d KiB and %.1f goroutines for each listener, stop after a call on each %v", started, (startedHeap-heap)/listeners>>10,
		float64(startedGoroutines-goroutines)/listeners, stopped)
}

// heapInUse returns the bytes of the heap that are in use.
func heapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
