package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding/gzip" // of both processes
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/internal/fakeads"
	"github.com/xdsforge/xdsforge/internal/fakelrs"
	"github.com/xdsforge/xdsforge/internal/process"
)

// A scene is the hostile control plane, and the client that it attacks.
type scene struct {
	server *fakeads.Server
	child  *process.Child
	load   *fakelrs.Server
	zip    bool // responses are compressed

	requests chan request // of the newest stream
	nonces   int
	wire     int64  // bytes sent
	verdict  string // the reason of the last rejection; empty: the last response was accepted

	mu   sync.Mutex
	sotw fakeads.Stream // the newest
	incr fakeads.DeltaStream
}

// A request is the part of a request that scenes look at.
type request struct {
	message string // the type's
	nonce   string
	names   []string // subscribed to; in state of the world, all of them
	gone    []string // unsubscribed from, in the delta protocol
	reason  string   // of a rejection
}

// startScene starts the hostile control plane.
func startScene(delta, compress bool) (s *scene, err error) {
	s = &scene{zip: compress, requests: make(chan request, 1<<10), load: fakelrs.New(time.Second)}
	if delta {
		s.server, err = fakeads.StartDelta(s.serveDelta, s.load.Option())
	} else {
		s.server, err = fakeads.Start(s.serve, s.load.Option())
	}
	return s, err
}

func (s *scene) serve(stream fakeads.Stream) error {
	s.mu.Lock()
	s.sotw = stream
	s.mu.Unlock()
	if s.zip {
		if err := grpc.SetSendCompressor(stream.Context(), gzip.Name); err != nil {
			return err
		}
	}
	for {
		req, err := stream.Recv()
		if err != nil {
			return err
		}
		r := request{message: messageOf(req.GetTypeUrl()), nonce: req.GetResponseNonce(), names: req.GetResourceNames(), reason: req.GetErrorDetail().GetMessage()}
		if err := s.take(stream.Context(), r); err != nil {
			return err
		}
	}
}

func (s *scene) serveDelta(stream fakeads.DeltaStream) error {
	s.mu.Lock()
	s.incr = stream
	s.mu.Unlock()
	for {
		req, err := stream.Recv()
		if err != nil {
			return err
		}
		r := request{
			message: messageOf(req.GetTypeUrl()), nonce: req.GetResponseNonce(), reason: req.GetErrorDetail().GetMessage(),
			names: req.GetResourceNamesSubscribe(), gone: req.GetResourceNamesUnsubscribe(),
		}
		if err := s.take(stream.Context(), r); err != nil {
			return err
		}
	}
}

func (s *scene) take(ctx context.Context, r request) error {
	select {
	case s.requests <- r:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// typeURLPrefix stands before the message's full name in every type URL.
const typeURLPrefix = "type.googleapis.com/"

func messageOf(url string) string { return url[len(typeURLPrefix):] }

// until waits for a request.
func (s *scene) until(ctx context.Context, what string, is func(request) bool) (request, error) {
	for {
		select {
		case r := <-s.requests:
			if is(r) {
				return r, nil
			}
		case <-ctx.Done():
			return request{}, fmt.Errorf("the client sent no %s: %w", what, ctx.Err())
		}
	}
}

// nonce is a new one.
func (s *scene) nonce() string {
	s.nonces++
	return strconv.Itoa(s.nonces)
}

// send sends bodies of a type as a state-of-the-world response, and waits for the answer.
func (s *scene) send(ctx context.Context, message string, bodies ...[]byte) error {
	return s.respond(ctx, response(message, bodies...))
}

// respond sends a state-of-the-world response, whose nonce and version it sets, and waits
// for the answer.
func (s *scene) respond(ctx context.Context, resp *discoveryv3.DiscoveryResponse) error {
	if err := s.post(resp); err != nil {
		return err
	}
	return s.answered(ctx)
}

// post is respond, but does not wait.
func (s *scene) post(resp *discoveryv3.DiscoveryResponse) error {
	resp.Nonce = s.nonce()
	resp.VersionInfo = resp.GetNonce()
	s.mu.Lock()
	stream := s.sotw
	s.mu.Unlock()
	s.wire += int64(proto.Size(resp))
	return stream.Send(resp)
}

// respondDelta is respond in the delta protocol.
func (s *scene) respondDelta(ctx context.Context, resp *discoveryv3.DeltaDiscoveryResponse) error {
	resp.Nonce = s.nonce()
	s.mu.Lock()
	stream := s.incr
	s.mu.Unlock()
	s.wire += int64(proto.Size(resp))
	if err := stream.Send(resp); err != nil {
		return err
	}
	return s.answered(ctx)
}

// answered waits for the answer to the last response.
func (s *scene) answered(ctx context.Context) error {
	nonce := strconv.Itoa(s.nonces)
	r, err := s.until(ctx, "answer", func(r request) bool { return r.nonce == nonce })
	if err != nil {
		return err
	}
	s.verdict = r.reason
	return nil
}

// watch has the client watch something, and waits until it has asked for it.
func (s *scene) watch(ctx context.Context, w Watch) error {
	if err := s.child.Call("Watch", w, nil); err != nil {
		return err
	}
	_, err := s.until(ctx, "request for "+w.Name, func(r request) bool {
		return len(r.names) == 0 && r.message == w.Message || slices.Contains(r.names, w.Name)
	})
	return err
}

// unwatch has the client end all watches.
func (s *scene) unwatch(context.Context) error { return s.child.Call("Unwatch", nil, nil) }
