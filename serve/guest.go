package serve

import (
	"context"
	"fmt"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/adsserver"
	"github.com/xdsforge/xdsforge/internal/adsserver/adsgrpc"
)

// host is the server's side of adsgrpc.
type host struct{ server *Server }

// Admit implements [adsgrpc.Host].
func (h host) Admit(ctx context.Context, m adsgrpc.Method) (adsgrpc.Guest, error) {
	g, err := h.server.admit(ctx)
	if err != nil {
		h.server.countEnd(h.server.settings.limits.clientOf(identify(ctx)), err)
		return nil, err
	}
	g.method = m
	return g, nil
}

// A guest is an admitted stream.
type guest struct {
	server   *Server
	ctx      context.Context //nolint:containedctx // of the stream
	cancel   context.CancelCauseFunc
	identity Identity
	address  string
	client   string // for the limits
	account  *account
	allow    func(url, name string) bool
	meter    *meter
	method   adsgrpc.Method
	view     string
	first    *time.Timer // ends the stream if no request arrives
}

// admit admits a stream of any service.
func (s *Server) admit(ctx context.Context) (*guest, error) {
	g := &guest{server: s, meter: newMeter(&s.settings.limits, time.Now())}
	g.identity, g.address = identify(ctx)
	g.client = s.settings.limits.clientOf(g.identity, g.address)
	if s.policy != nil {
		if g.allow = s.policy.of(g.identity); g.allow == nil {
			return nil, fmt.Errorf("%w: client = %s; must have a permission", adsserver.ErrDenied, g.identity)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse != nil {
		return nil, s.refuse
	}
	var err error
	if g.account, err = s.accounts.enter(g.client, &s.settings.limits); err != nil {
		return nil, err
	}
	g.ctx, g.cancel = context.WithCancelCause(ctx)
	s.guests[g] = struct{}{}
	limit := s.settings.limits.FirstRequest
	g.first = time.AfterFunc(limit, func() { g.cancel(silentError{limit}) })
	return g, nil
}

// A silentError ends a stream without a first request.
type silentError struct{ limit time.Duration }

// Error implements error.
func (e silentError) Error() string {
	return fmt.Sprintf("serve: the stream has sent no request; must send the first one within %v (Limits.FirstRequest)", e.limit)
}

// GRPCStatus implements the interface of package status.
func (e silentError) GRPCStatus() *grpcstatus.Status {
	return grpcstatus.New(codes.ResourceExhausted, e.Error())
}

// Context implements [adsgrpc.Guest].
func (g *guest) Context() context.Context { return g.ctx }

// Open implements [adsgrpc.Guest].
func (g *guest) Open(first []byte) (*adsserver.Stream, error) {
	g.first.Stop()
	core := g.server.main
	raw := adsserver.NodeOf(first, g.method.Delta)
	if pick := g.server.settings.pick; pick != nil {
		var node *corev3.Node
		err := g.server.settings.limits.node(raw)
		if err == nil {
			g.account.budget.Turn(func() { // a client has at most one node that is being decoded
				if node, err = decodeNode(raw); err == nil {
					g.view = pick(node)
				}
			})
		}
		if err != nil {
			return nil, err
		}
		if view, ok := g.server.views[g.view]; ok {
			core = view
		} else {
			g.view = ""
		}
	}
	for _, f := range core.Feeds() {
		if f.Authority == "" && f.State.Kind == source.Down && f.Epoch == "" {
			return nil, fmt.Errorf("serve: the source has no resources yet: %w", f.State.Err)
		}
	}
	return core.OpenStream(adsserver.StreamOptions{
		Delta: g.method.Delta, URL: g.method.URL, Allow: g.allow, About: g, Budget: &g.account.budget,
	})
}

// decodeNode decodes a node, or returns nil if there is none.
func decodeNode(raw []byte) (*corev3.Node, error) {
	if raw == nil {
		return nil, nil
	}
	node := new(corev3.Node)
	if err := proto.Unmarshal(raw, node); err != nil {
		return nil, fmt.Errorf("%w: node: %w", adsserver.ErrMalformed, err)
	}
	return node, nil
}

// Request implements [adsgrpc.Guest].
func (g *guest) Request(size int, handle func() error) error {
	if err := g.meter.request(size, &g.server.settings.limits, time.Now()); err != nil {
		return err
	}
	return g.account.budget.Hold(size, handle)
}

// Leave implements [adsgrpc.Guest].
func (g *guest) Leave(err error) {
	g.first.Stop()
	g.cancel(err)
	s := g.server
	s.mu.Lock()
	delete(s.guests, g)
	close(s.left)
	s.left = make(chan struct{})
	s.mu.Unlock()
	s.accounts.leave(g.client)
	s.countEnd(g.client, err)
}
