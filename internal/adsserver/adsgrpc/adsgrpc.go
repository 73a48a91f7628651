// Package adsgrpc connects the core of an ADS server to gRPC.
package adsgrpc

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/internal/adsserver"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// A Host decides about the streams of a server.
type Host interface {
	// Admit admits a stream before its first request, or returns the reason not to.
	Admit(ctx context.Context, m Method) (Guest, error)
}

// A Guest is an admitted stream.
type Guest interface {
	// Context ends with the stream. Its cause is the reason.
	Context() context.Context
	// Open opens the stream of a core by its first request.
	Open(first []byte) (*adsserver.Stream, error)
	// Request is called with each request, which handle handles. An error ends the stream.
	Request(size int, handle func() error) error
	// Leave is called at the end.
	Leave(err error)
}

// Register registers the aggregated discovery service for a core. With the options of
// [ServerOptions], the server sends shared bytes without a copy.
func Register(r grpc.ServiceRegistrar, core *adsserver.Core) {
	RegisterHost(r, coreHost{core}, func(string) bool { return false })
}

// coreHost admits everything.
type coreHost struct{ core *adsserver.Core }

// Admit implements [Host].
func (h coreHost) Admit(ctx context.Context, m Method) (Guest, error) {
	return coreGuest{h.core, ctx, m.Delta}, nil
}

type coreGuest struct {
	core  *adsserver.Core
	ctx   context.Context //nolint:containedctx // of the stream
	delta bool
}

// Context implements [Guest].
func (g coreGuest) Context() context.Context { return g.ctx }

// Open implements [Guest].
func (g coreGuest) Open([]byte) (*adsserver.Stream, error) { return g.core.Open(g.delta) }

// Request implements [Guest].
func (coreGuest) Request(_ int, handle func() error) error { return handle() }

// Leave implements [Guest].
func (coreGuest) Leave(error) {}

// serve serves a stream.
func serve(ss grpc.ServerStream, host Host, m Method) error {
	guest, err := host.Admit(ss.Context(), m)
	if err != nil {
		return Status(err)
	}
	err = run(ss, guest)
	guest.Leave(err)
	return Status(err)
}

// run serves an admitted stream until it ends, and returns why. The handler's goroutine takes responses from the
// stream of the core, and another receives requests.
func run(ss grpc.ServerStream, guest Guest) (err error) {
	ctx, cancel := context.WithCancelCause(guest.Context())
	defer cancel(nil)
	opened := make(chan *adsserver.Stream, 1)
	go func() { cancel(receive(ss, guest, opened)) }()
	select {
	case st := <-opened:
		err = send(ctx, ss, st)
		st.Close(err)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	return err
}

// receive passes requests to the stream until it ends, and returns why.
func receive(ss grpc.ServerStream, guest Guest, opened chan<- *adsserver.Stream) (err error) {
	var f frame
	var st *adsserver.Stream
	defer func() {
		if st != nil {
			st.Close(err)
		}
	}()
	for {
		if err := ss.RecvMsg(&f); err != nil {
			return err
		}
		raw := f.received()
		err := guest.Request(len(raw), func() (err error) {
			if st == nil {
				if st, err = guest.Open(raw); err != nil {
					return err
				}
				opened <- st
			}
			return st.Request(raw)
		})
		f.release()
		if err != nil {
			return err
		}
	}
}

// send sends responses until the stream ends, and returns why. Each is sent by a goroutine of its own: SendMsg waits for a client
// that does not read until the handler has returned.
func send(ctx context.Context, ss grpc.ServerStream, st *adsserver.Stream) error {
	sent := make(chan error, 1)
	for {
		pieces, err := st.Next(ctx)
		if err != nil {
			return err
		}
		go func() { sent <- ss.SendMsg(&frame{pieces: pieces}) }()
		select {
		case err := <-sent:
			if err != nil {
				return err
			}
		case <-st.Ended():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Status returns the gRPC status for the end of a stream.
func Status(err error) error {
	code := codes.Unavailable
	var limit *adsserver.LimitError
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return nil
	case errors.As(err, &limit):
		code = codes.ResourceExhausted
	case errors.Is(err, adsserver.ErrMalformed):
		code = codes.InvalidArgument
	case errors.Is(err, adsserver.ErrDenied):
		code = codes.PermissionDenied
	case errors.Is(err, context.Canceled):
		code = codes.Canceled
	default:
		if _, ok := status.FromError(err); ok {
			return err
		}
	}
	return status.Error(code, printable.Text(err.Error(), printable.Quoted))
}
