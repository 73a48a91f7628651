// Package controlplane runs go-control-plane's real ADS server on loopback. It records
// connections, requests and rejections.
package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	cachev3 "github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	serverv3 "github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/framework/transport/grpctransport"
	"github.com/xdsforge/xdsforge/internal/loopback"
)

// A Server is a control plane. It keeps any resource of the types that it was
// started with, under the name it is given.
type Server struct {
	caches  map[string]*cachev3.LinearCache // by type URL
	options []grpc.ServerOption
	port    *loopback.Port
	held    sync.RWMutex // locked while connections are held
	release func()       // ends that; nil: none were held

	forgetful atomic.Bool

	mu       sync.Mutex
	changed  *sync.Cond
	conns    int
	streams  int
	requests []*discoveryv3.DiscoveryRequest
	deltas   []*discoveryv3.DeltaDiscoveryRequest

	stop func()
}

// Start serves the types with the given full message names on a port of 127.0.0.1, until Stop. The
// port stays reserved for Restart.
func Start(messages []string, opts ...grpc.ServerOption) (*Server, error) {
	s := newServer(opts...)
	port, err := loopback.Reserve()
	if err != nil {
		return nil, err
	}
	s.caches, s.port = make(map[string]*cachev3.LinearCache), port
	for _, m := range messages {
		url := "type.googleapis.com/" + m
		s.caches[url] = cachev3.NewLinearCache(url)
	}
	if err := s.Restart(); err != nil {
		return nil, err
	}
	return s, nil
}

// Restart serves on the same address again after a Stop, with the same resources.
func (s *Server) Restart() error {
	lis, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", s.Addr())
	if err != nil {
		return fmt.Errorf("controlplane: %w", err)
	}
	mux := &cachev3.MuxCache{
		Classify:      func(r *cachev3.Request) string { return r.GetTypeUrl() },
		ClassifyDelta: func(r *cachev3.DeltaRequest) string { return r.GetTypeUrl() },
		Caches:        make(map[string]cachev3.Cache),
	}
	for url, c := range s.caches {
		mux.Caches[url] = c
	}
	s.serve(lis, mux)
	return nil
}

// InMemory serves a cache of any kind until Stop. Only connections of the returned transport reach
// it, to servers with the URI "passthrough:///memory". It works in a bubble of testing/synctest.
func InMemory(cache cachev3.Cache) (*Server, transport.Transport) {
	s := newServer()
	lis := bufconn.Listen(1 << 20)
	s.serve(lis, cache)
	return s, grpctransport.New(grpctransport.WithDialOptions(grpc.WithContextDialer(
		func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) })))
}

func newServer(opts ...grpc.ServerOption) *Server {
	s := &Server{options: opts}
	s.changed = sync.NewCond(&s.mu)
	return s
}

func (s *Server) serve(lis net.Listener, cache cachev3.Cache) {
	ctx, cancel := context.WithCancel(context.Background())
	g := grpc.NewServer(append([]grpc.ServerOption{grpc.StreamInterceptor(s.intercept)}, s.options...)...)
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(g, serverv3.NewServer(ctx, cache, nil))
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = g.Serve(&listener{Listener: lis, server: s}) // ends with Stop
	}()
	s.stop = func() {
		cancel()
		g.Stop()
		<-served
	}
}

// Stop closes the listener and every connection.
func (s *Server) Stop() {
	if s.release != nil {
		s.release()
	}
	s.stop()
}

// Addr is "127.0.0.1:port".
func (s *Server) Addr() string { return s.port.Addr() }

// Set adds or replaces a resource.
func (s *Server) Set(name string, m proto.Message) error {
	return s.Update(map[string]proto.Message{name: m})
}

// Update adds or replaces several resources in one go.
func (s *Server) Update(resources map[string]proto.Message) error {
	byType := make(map[string]map[string]types.Resource)
	for name, m := range resources {
		url := "type.googleapis.com/" + string(m.ProtoReflect().Descriptor().FullName())
		if byType[url] == nil {
			byType[url] = make(map[string]types.Resource)
		}
		byType[url][name] = m
	}
	for url, rs := range byType {
		c, ok := s.caches[url]
		if !ok {
			return fmt.Errorf("controlplane: %s is not served", url)
		}
		if err := c.UpdateResources(rs, nil); err != nil {
			return err
		}
	}
	return nil
}

// Delete removes a resource of the type with the given full message name.
func (s *Server) Delete(message, name string) error {
	url := "type.googleapis.com/" + message
	c, ok := s.caches[url]
	if !ok {
		return fmt.Errorf("controlplane: %s is not served", url)
	}
	return c.DeleteResource(name)
}

// intercept notes each stream and, before the server adds to them, its requests.
func (s *Server) intercept(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	s.note(func() { s.streams++ })
	return handler(srv, recordingStream{ss, s})
}

type recordingStream struct {
	grpc.ServerStream
	server *Server
}

// RecvMsg implements [grpc.ServerStream].
func (r recordingStream) RecvMsg(m any) error {
	if err := r.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	if r.server.forgetful.Load() {
		return nil
	}
	switch req := m.(type) {
	case *discoveryv3.DiscoveryRequest:
		req = proto.CloneOf(req)
		r.server.note(func() { r.server.requests = append(r.server.requests, req) })
	case *discoveryv3.DeltaDiscoveryRequest:
		req = proto.CloneOf(req)
		r.server.note(func() { r.server.deltas = append(r.server.deltas, req) })
	}
	return nil
}

func (s *Server) note(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	s.changed.Broadcast()
}

// Connections is the number of connections accepted so far.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns
}

// Streams is the number of ADS streams opened so far.
func (s *Server) Streams() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.streams
}

// DeltaRequests are the requests of the incremental protocol that arrived so far, of
// all streams.
func (s *Server) DeltaRequests() []*discoveryv3.DeltaDiscoveryRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.deltas)
}

// Requests are the requests of the state-of-the-world protocol that arrived so far,
// of all streams.
func (s *Server) Requests() []*discoveryv3.DiscoveryRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// ForgetRequests stops recording requests, for tests whose requests would fill the memory.
func (s *Server) ForgetRequests() { s.forgetful.Store(true) }

// Rejections returns the error messages of the NACKs received so far.
func (s *Server) Rejections() []string {
	var out []string
	for _, r := range s.Requests() {
		if d := r.GetErrorDetail(); d != nil {
			out = append(out, d.GetMessage())
		}
	}
	for _, r := range s.DeltaRequests() {
		if d := r.GetErrorDetail(); d != nil {
			out = append(out, d.GetMessage())
		}
	}
	return out
}

// ErrNoRequest is the error of AwaitRequest when ctx ends first.
var ErrNoRequest = errors.New("controlplane: no such request arrived")

// AwaitRequest waits for a request that matches, past ones included.
func (s *Server) AwaitRequest(ctx context.Context, match func(*discoveryv3.DiscoveryRequest) bool) (*discoveryv3.DiscoveryRequest, error) {
	defer context.AfterFunc(ctx, func() { s.note(func() {}) })()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := 0; ; {
		for ; i < len(s.requests); i++ {
			if match(s.requests[i]) {
				return s.requests[i], nil
			}
		}
		if ctx.Err() != nil {
			return nil, ErrNoRequest
		}
		s.changed.Wait()
	}
}
