package client

import (
	"context"
	"fmt"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/lkg"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/internal/envelope"
)

// A storeConn makes streams to the last known good store.
type storeConn struct{ use *storeUse }

// OpenStream implements [transport.Conn].
func (c storeConn) OpenStream(ctx context.Context, method string) (transport.Stream, error) {
	if method != transport.MethodDeltaADS {
		return nil, fmt.Errorf("%w %s", transport.ErrUnimplemented, method)
	}
	return &storeStream{use: c.use, ctx: ctx, requests: make(chan []byte, 1), types: make(map[string]bool)}, nil
}

// Close implements [transport.Conn]. Streams end with their contexts.
func (storeConn) Close() error { return nil }

// A storeStream is a delta ADS stream whose server is the store. It answers each subscription once: with
// the resource, or with an error (xRFC TP3), but never with a removal. It sends no further changes.
type storeStream struct {
	use      *storeUse
	ctx      context.Context
	requests chan []byte
	types    map[string]bool // type URLs of earlier requests
	nonce    uint64
}

// Send implements [transport.Stream].
func (s *storeStream) Send(msg []byte) error {
	select {
	case s.requests <- msg:
		return nil
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
}

// Receive implements [transport.Stream].
func (s *storeStream) Receive() ([]byte, error) {
	for {
		select {
		case msg := <-s.requests:
			var req discoveryv3.DeltaDiscoveryRequest
			if err := proto.Unmarshal(msg, &req); err != nil {
				return nil, fmt.Errorf("reading the client's own request: %w", err)
			}
			if names := s.names(&req); len(names) > 0 {
				return s.respond(req.GetTypeUrl(), names)
			}
		case <-s.ctx.Done():
			return nil, context.Cause(s.ctx)
		}
	}
}

// names returns the names that a request subscribes to. The first request of a type without names
// subscribes to the wildcard.
func (s *storeStream) names(req *discoveryv3.DeltaDiscoveryRequest) []string {
	first := !s.types[req.GetTypeUrl()]
	s.types[req.GetTypeUrl()] = true
	if names := req.GetResourceNamesSubscribe(); len(names) > 0 || !first {
		return names
	}
	return []string{resource.Wildcard}
}

// codeUnavailable is the code of google.rpc.Code for names that the store does not have.
const codeUnavailable = 14

// respond returns the response for the names of a request.
func (s *storeStream) respond(typeURL string, names []string) ([]byte, error) {
	u, now := s.use, time.Now()
	s.nonce++
	resp := &discoveryv3.DeltaDiscoveryResponse{TypeUrl: typeURL, Nonce: fmt.Sprint(s.nonce)}
	typ := envelope.MessageName(typeURL)
	for _, name := range names {
		n, err := u.client.config.ParseName(name)
		a := u.client.find(n)
		var list []lkg.Resource
		held := false
		if err == nil && a != nil {
			list, held = u.entries(a, typ, n)
		}
		if !held {
			resp.ResourceErrors = append(resp.ResourceErrors, notHeld(name))
			continue
		}
		for i := range list {
			resp.Resources = append(resp.Resources, u.resource(typeURL, &list[i], a.server(list[i].Server), now))
		}
	}
	return proto.Marshal(resp)
}

func notHeld(name string) *discoveryv3.ResourceError {
	return &discoveryv3.ResourceError{
		ResourceName: &discoveryv3.ResourceName{Name: name},
		ErrorDetail:  &rpcstatus.Status{Code: codeUnavailable, Message: "the last known good store does not have it"},
	}
}

// resource returns a stored resource as the stream sends it, and records the server that it came from.
func (u *storeUse) resource(typeURL string, r *lkg.Resource, server *bootstrap.Server, now time.Time) *discoveryv3.Resource {
	res := &discoveryv3.Resource{
		Name: r.Name, Version: r.Version, Resource: &anypb.Any{TypeUrl: typeURL, Value: r.Body},
	}
	if r.AliasOf != "" {
		res.Name, res.Aliases = r.AliasOf, []string{r.Name}
	}
	if ttl, _ := r.Remaining(now); ttl > 0 {
		res.Ttl = durationpb.New(ttl)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.origins[origin{r.Type, res.GetName()}] = server
	return res
}
