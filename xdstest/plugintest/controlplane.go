package plugintest

import (
	"context"
	"fmt"
	"io"
	"sync"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/transport"
)

// A controlPlane serves one resource from memory, by the state-of-the-world
// protocol. It is a [transport.Transport] whose every connection leads to it.
type controlPlane struct {
	url      string // of the resource's type
	name     string
	wrapped  bool        // the resource comes in a wrapper that names it
	rejected chan string // why a response was

	mu      sync.Mutex
	body    []byte // empty: not served yet
	version int
	streams []*memoryStream
}

// set serves another version.
func (s *controlPlane) set(body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.body = body
	s.version++
	for _, stream := range s.streams {
		s.answer(stream)
	}
}

// answer sends the resource to a stream that wants it and has not got this
// version. The caller holds mu.
func (s *controlPlane) answer(to *memoryStream) {
	if !to.wants || to.sent == s.version {
		return
	}
	to.sent = s.version
	resource := &anypb.Any{TypeUrl: s.url, Value: s.body}
	if s.wrapped {
		body, err := proto.Marshal(&discoveryv3.Resource{Name: s.name, Resource: resource})
		if err != nil {
			return // a name that is no text cannot be served
		}
		resource = &anypb.Any{TypeUrl: "type.googleapis.com/envoy.service.discovery.v3.Resource", Value: body}
	}
	response, err := proto.Marshal(&discoveryv3.DiscoveryResponse{
		VersionInfo: fmt.Sprint(s.version), TypeUrl: s.url, Nonce: fmt.Sprint(s.version), Resources: []*anypb.Any{resource},
	})
	if err == nil {
		to.responses <- response
	}
}

// Dial implements [transport.Transport].
func (s *controlPlane) Dial(*bootstrap.Server) (transport.Conn, error) { return memoryConn{s}, nil }

type memoryConn struct{ server *controlPlane }

// OpenStream implements [transport.Conn].
func (c memoryConn) OpenStream(ctx context.Context, method string) (transport.Stream, error) {
	if method != transport.MethodADS {
		return nil, transport.ErrUnimplemented
	}
	s := &memoryStream{server: c.server, ctx: ctx, responses: make(chan []byte, 16)}
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.server.streams = append(c.server.streams, s)
	return s, nil
}

// Close implements [transport.Conn].
func (memoryConn) Close() error { return nil }

// A memoryStream is one ADS stream.
type memoryStream struct {
	server    *controlPlane
	ctx       context.Context //nolint:containedctx // a stream lives as long as its context
	responses chan []byte     // has room for what a test serves

	// Guarded by the server's mu.
	wants bool
	sent  int
}

// Send implements [transport.Stream].
func (s *memoryStream) Send(msg []byte) error {
	req := new(discoveryv3.DiscoveryRequest)
	if err := proto.Unmarshal(msg, req); err != nil {
		return err
	}
	if req.GetTypeUrl() != s.server.url {
		return nil
	}
	if e := req.GetErrorDetail(); e != nil {
		s.server.rejected <- e.GetMessage()
	}
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.wants = len(req.GetResourceNames()) > 0
	s.server.answer(s)
	return nil
}

// Receive implements [transport.Stream].
func (s *memoryStream) Receive() ([]byte, error) {
	select {
	case r := <-s.responses:
		return r, nil
	case <-s.ctx.Done():
		return nil, io.EOF
	}
}
