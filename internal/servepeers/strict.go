package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/anypb"
)

// urls are the types of a channel.
func urls() []string {
	return []string{
		"type.googleapis.com/envoy.config.listener.v3.Listener", "type.googleapis.com/envoy.config.route.v3.RouteConfiguration",
		"type.googleapis.com/envoy.config.cluster.v3.Cluster", endpointURL,
	}
}

// A strict is a client that checks each response by the rules of the protocol. Its "calls" read the
// newest assignment, and return the first violation of a rule as an error.
type strict struct {
	world    *world
	node     string
	delta    bool
	cancel   context.CancelFunc
	group    sync.WaitGroup
	versions map[string]string // delta: of the resources that the client has, by type, from all streams

	mu        sync.Mutex
	backend   string
	violation error
}

func openStrict(delta bool) func(ctx context.Context, w *world, node string) (peer, error) {
	return func(ctx context.Context, w *world, node string) (peer, error) {
		ctx, cancel := context.WithCancel(ctx)
		s := &strict{world: w, node: node, delta: delta, cancel: cancel, versions: make(map[string]string)}
		server := w.addr
		s.group.Go(func() { s.run(ctx, server) })
		return s, nil
	}
}

// run opens one stream to a server after the other.
func (s *strict) run(ctx context.Context, server string) {
	cc, err := grpc.NewClient("passthrough:///"+server, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		s.violate(err)
		return
	}
	defer cc.Close()
	for ctx.Err() == nil {
		client := discoveryv3.NewAggregatedDiscoveryServiceClient(cc)
		if s.delta {
			err = s.followDelta(ctx, client)
		} else {
			err = s.followWhole(ctx, client)
		}
		if _, ok := errors.AsType[*ruleError](err); ok {
			s.violate(err)
			return
		}
		retry := time.NewTimer(100 * time.Millisecond)
		select {
		case <-retry.C:
		case <-ctx.Done():
		}
		retry.Stop()
	}
}

// A ruleError is a violation of a rule by the server.
type ruleError struct{ text string }

// Error implements error.
func (e *ruleError) Error() string { return e.text }

func broken(format string, args ...any) error { return &ruleError{fmt.Sprintf(format, args...)} }

func (s *strict) violate(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.violation = err
}

// A streamState has the rules of one stream.
type streamState struct {
	nonces   map[string]bool
	last     map[string]string // contents of the last responses, by type
	rejected map[string]string // delta: versions that the client rejected, by type
}

func newStreamState() *streamState {
	return &streamState{make(map[string]bool), make(map[string]string), make(map[string]string)}
}

// nonce checks the nonce of a response.
func (x *streamState) nonce(n string) error {
	if n == "" || x.nonces[n] {
		return broken("nonce = %q; must be new on the stream", n)
	}
	x.nonces[n] = true
	return nil
}

func (s *strict) followDelta(ctx context.Context, client discoveryv3.AggregatedDiscoveryServiceClient) error {
	stream, err := client.DeltaAggregatedResources(ctx)
	if err != nil {
		return err
	}
	for i, url := range urls() {
		r := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: url, ResourceNamesSubscribe: []string{service}}
		if i == 0 {
			r.Node = &corev3.Node{Id: s.node}
		}
		if v := s.versions[url]; v != "" {
			r.InitialResourceVersions = map[string]string{service: v}
		}
		if err := stream.Send(r); err != nil {
			return err
		}
	}
	x := newStreamState()
	for {
		r, err := stream.Recv()
		if err == nil {
			err = s.checkDelta(x, r)
		}
		if err != nil {
			return err
		}
		answer := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: r.GetTypeUrl(), ResponseNonce: r.GetNonce()}
		resource := r.GetResources()[0]
		if reason := s.use(resource.GetResource()); reason != nil {
			x.rejected[r.GetTypeUrl()] = resource.GetVersion()
			answer.ErrorDetail = &rpcstatus.Status{Code: int32(codes.InvalidArgument), Message: reason.Error()}
		} else {
			s.versions[r.GetTypeUrl()] = resource.GetVersion()
		}
		if err := stream.Send(answer); err != nil {
			return err
		}
	}
}

// checkDelta checks a response: it has the one resource of the type, in a version that the client neither
// has nor has rejected.
func (s *strict) checkDelta(x *streamState, r *discoveryv3.DeltaDiscoveryResponse) error {
	if err := x.nonce(r.GetNonce()); err != nil {
		return err
	}
	if len(r.GetResources()) != 1 || len(r.GetRemovedResources())+len(r.GetResourceErrors()) > 0 {
		return broken("response = %v; must have the one resource of the type", r)
	}
	resource := r.GetResources()[0]
	switch v := resource.GetVersion(); {
	case resource.GetName() != service || resource.GetResource().GetTypeUrl() != r.GetTypeUrl():
		return broken("resource = %v; must be one to which the client subscribes", resource)
	case v == "" || v == s.versions[r.GetTypeUrl()]:
		return broken("version of %s = %q; must be one that the client does not have", r.GetTypeUrl(), v)
	case v == x.rejected[r.GetTypeUrl()]:
		return broken("version of %s = %q; must not be one that the client rejected on this stream", r.GetTypeUrl(), v)
	}
	return nil
}

func (s *strict) followWhole(ctx context.Context, client discoveryv3.AggregatedDiscoveryServiceClient) error {
	stream, err := client.StreamAggregatedResources(ctx)
	if err != nil {
		return err
	}
	for i, url := range urls() {
		r := &discoveryv3.DiscoveryRequest{TypeUrl: url, ResourceNames: []string{service}, VersionInfo: s.versions[url]}
		if i == 0 {
			r.Node = &corev3.Node{Id: s.node}
		}
		if err := stream.Send(r); err != nil {
			return err
		}
	}
	x := newStreamState()
	for {
		r, err := stream.Recv()
		if err == nil {
			err = s.checkWhole(x, r)
		}
		if err != nil {
			return err
		}
		answer := &discoveryv3.DiscoveryRequest{TypeUrl: r.GetTypeUrl(), ResourceNames: []string{service}, ResponseNonce: r.GetNonce()}
		if reason := s.use(r.GetResources()[0]); reason != nil {
			answer.ErrorDetail = &rpcstatus.Status{Code: int32(codes.InvalidArgument), Message: reason.Error()}
		} else {
			s.versions[r.GetTypeUrl()] = r.GetVersionInfo()
		}
		answer.VersionInfo = s.versions[r.GetTypeUrl()]
		if err := stream.Send(answer); err != nil {
			return err
		}
	}
}

// checkWhole checks a response: it has the one resource of the type, with another content than the last
// response of the stream.
func (s *strict) checkWhole(x *streamState, r *discoveryv3.DiscoveryResponse) error {
	if err := x.nonce(r.GetNonce()); err != nil {
		return err
	}
	if len(r.GetResources()) != 1 || r.GetResources()[0].GetTypeUrl() != r.GetTypeUrl() || r.GetVersionInfo() == "" {
		return broken("response = %v; must have a version and the one resource of the type", r)
	}
	content := string(r.GetResources()[0].GetValue())
	if x.last[r.GetTypeUrl()] == content {
		return broken("%s; must not be sent again unless it changes", r.GetTypeUrl())
	}
	x.last[r.GetTypeUrl()] = content
	return nil
}

// use uses a resource, or returns the reason to reject it.
func (s *strict) use(resource *anypb.Any) error {
	if resource.GetTypeUrl() != endpointURL {
		return nil
	}
	backend, err := backendOf(s.world, resource)
	if err == nil {
		s.mu.Lock()
		s.backend = backend
		s.mu.Unlock()
	}
	return err
}

// Who implements [peer].
func (s *strict) Who(context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.violation != nil {
		return "", s.violation
	}
	return s.backend, nil
}

// Close implements [peer].
func (s *strict) Close() error {
	s.cancel()
	s.group.Wait()
	return nil
}
