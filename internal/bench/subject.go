package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/framework/transport/grpctransport"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/registry"
)

// A kind is which client is measured.
type kind int

const (
	ours kind = iota
	plain
	skipping
	nothing // the floor
)

// A subject is a client that is measured. It watches n clusters and n assignments.
type subject struct {
	got     []atomic.Uint32 // how often each was told: clusters, then assignments
	told    chan struct{}   // has a token when something was
	handled chan struct{}   // responses that were answered

	cancels []func()
	cancel  func() // all watches
	stop    func()

	watchCluster func(i int, f func()) (cancel func(), err error) // calls f once or more
	sent         atomic.Int64                                     // bytes of the requests of our client
}

func newSubject(ctx context.Context, k kind, addr string, n int, delta bool) (*subject, error) {
	s := &subject{got: make([]atomic.Uint32, 2*n), told: make(chan struct{}, 1), handled: make(chan struct{}, 1000)}
	var err error
	switch k {
	case ours:
		err = s.startOurs(addr, n, delta)
	case nothing:
		err = s.startFloor(ctx, addr, n)
	case plain, skipping:
		err = s.startMinimal(ctx, addr, n, delta, k == skipping)
	}
	return s, err
}

func (s *subject) tell(i int) {
	s.got[i].Add(1)
	select {
	case s.told <- struct{}{}:
	default:
	}
}

// await waits until the watchers from..to were told something more than before.
func (s *subject) await(ctx context.Context, from, to int, before uint32) error {
	for i := from; i < to; {
		if s.got[i].Load() > before {
			i++
			continue
		}
		select {
		case <-s.told:
		case <-ctx.Done():
			return fmt.Errorf("waiting for watcher %d: %w", i, context.Cause(ctx))
		}
	}
	return nil
}

// settled waits until all watchers are notified and the work that follows is done.
func (s *subject) settled(ctx context.Context, k kind, srv *server) error {
	if k == nothing {
		if err := errors.Join(s.answered(ctx), s.answered(ctx)); err != nil {
			return err
		}
	} else if err := s.await(ctx, 0, len(s.got), 0); err != nil {
		return err
	}
	// The last answers to a burst, and whatever is put off.
	if err := srv.touch(resourcev3.ClusterType, 0); err != nil {
		return err
	}
	if k != nothing {
		if err := s.await(ctx, 0, 1, 1); err != nil {
			return err
		}
	}
	pause := time.NewTimer(300 * time.Millisecond)
	<-pause.C
	s.drain()
	return nil
}

// answered waits for the answer to a response.
func (s *subject) answered(ctx context.Context) error {
	select {
	case <-s.handled:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// drain forgets answers.
func (s *subject) drain() {
	for {
		select {
		case <-s.handled:
		default:
			return
		}
	}
}

func (s *subject) startMinimal(ctx context.Context, addr string, n int, delta, skips bool) error {
	ctx, cancel := context.WithCancel(ctx)
	m, err := newMinimal(ctx, addr, delta, skips)
	if err != nil {
		cancel()
		return err
	}
	for i := range n {
		m.watch(resourcev3.ClusterType, clusterName(i), func() { s.tell(i) })
		m.watch(resourcev3.EndpointType, serviceName(i), func() { s.tell(n + i) })
	}
	var wg sync.WaitGroup
	wg.Go(func() { _ = m.run() }) // it ends with ctx
	wg.Go(func() {
		for {
			select {
			case <-m.handled:
				select {
				case s.handled <- struct{}{}:
				default: // nobody counts
				}
			case <-ctx.Done():
				return
			}
		}
	})
	s.watchCluster = m.watchCluster
	s.cancel = func() {
		_ = errors.Join(m.unwatch(resourcev3.ClusterType), m.unwatch(resourcev3.EndpointType)) // only the work counts
	}
	s.stop = func() {
		cancel()
		_ = m.conn.Close()
		wg.Wait()
	}
	if n > 0 {
		err = errors.Join(m.ask(resourcev3.ClusterType), m.ask(resourcev3.EndpointType))
	}
	return err
}

// startFloor starts a client that notifies no watcher.
func (s *subject) startFloor(ctx context.Context, addr string, n int) error {
	ctx, cancel := context.WithCancel(ctx)
	f, err := newFloor(ctx, addr, n, func() { s.handled <- struct{}{} })
	if err != nil {
		cancel()
		return err
	}
	var wg sync.WaitGroup
	wg.Go(func() { _ = f.run() }) // it ends with ctx
	s.stop = func() {
		cancel()
		_ = f.conn.Close()
		wg.Wait()
	}
	return nil
}

// changed calls f for each event with another update.
func changed[U resource.Update](f func()) func(resource.Event[U]) {
	return func(ev resource.Event[U]) {
		if ev.Changed && ev.Err == nil {
			f()
		}
	}
}

func standardTypes() (*resource.Set, error) {
	reg := registry.New()
	standard.Register(reg)
	return reg.Freeze()
}

func (s *subject) startOurs(addr string, n int, delta bool) error {
	set, err := standardTypes()
	if err != nil {
		return err
	}
	config, err := configOf(addr)
	if err != nil {
		return err
	}
	c, err := client.New(config, set, client.Options{Delta: delta, Transport: counting{grpctransport.New(), s}})
	if err != nil {
		return err
	}
	s.stop = func() { _ = c.Close() }
	s.watchCluster = func(i int, f func()) (func(), error) {
		return cluster.Subscribe(c, clusterName(i), changed[*cluster.Update](f))
	}
	for i := range n {
		cancel, err := cluster.Subscribe(c, clusterName(i), changed[*cluster.Update](func() { s.tell(i) }))
		if err != nil {
			return err
		}
		s.cancels = append(s.cancels, cancel)
		if cancel, err = endpoint.Subscribe(c, serviceName(i), changed[*endpoint.Update](func() { s.tell(n + i) })); err != nil {
			return err
		}
		s.cancels = append(s.cancels, cancel)
	}
	s.cancel = func() {
		for _, cancel := range s.cancels {
			cancel()
		}
	}
	return nil
}

// counting is a transport that notes the requests that are sent, each of which, once
// everything is watched, answers a response.
type counting struct {
	*grpctransport.Transport
	subject *subject
}

type countingConn struct {
	transport.Conn
	subject *subject
}

type countingStream struct {
	transport.Stream
	subject *subject
}

// Dial implements [transport.Transport].
func (t counting) Dial(server *bootstrap.Server) (transport.Conn, error) {
	c, err := t.Transport.Dial(server)
	return countingConn{c, t.subject}, err
}

// OpenStream implements [transport.Conn].
func (c countingConn) OpenStream(ctx context.Context, method string) (transport.Stream, error) {
	s, err := c.Conn.OpenStream(ctx, method)
	return countingStream{s, c.subject}, err
}

// ReceivePieces implements [transport.PieceReceiver].
func (s countingStream) ReceivePieces() ([][]byte, error) {
	return s.Stream.(transport.PieceReceiver).ReceivePieces()
}

// Send implements [transport.Stream].
func (s countingStream) Send(msg []byte) error {
	s.subject.sent.Add(int64(len(msg)))
	err := s.Stream.Send(msg)
	select {
	case s.subject.handled <- struct{}{}:
	default: // nobody counts
	}
	return err
}
