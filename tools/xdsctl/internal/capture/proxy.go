package capture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/xdsforge/xdsforge/framework/transport"
)

// maxMessage is the limit of a message that a server of this package receives. Responses come from
// the transport, which has a limit of its own.
const maxMessage = 64 << 20

// Serve serves ADS on a listener until ctx ends. The handler has a stream of encoded messages.
func Serve(ctx context.Context, lis net.Listener, handle func(ctx context.Context, method string, s transport.Stream) error) error {
	g := grpc.NewServer(grpc.MaxRecvMsgSize(maxMessage), grpc.UnknownServiceHandler(func(_ any, ss grpc.ServerStream) error { //nolint:contextcheck // the stream has one
		method, _ := grpc.MethodFromServerStream(ss)
		if !isADS(method) {
			return status.Error(codes.Unimplemented, "only ADS is served")
		}
		return asStatus(handle(ss.Context(), method, served{ss}))
	}))
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	wg.Go(func() {
		<-ctx.Done()
		g.Stop()
	})
	err := g.Serve(lis)
	stopped := ctx.Err() != nil
	cancel()
	wg.Wait()
	if stopped {
		err = nil
	}
	return err
}

func asStatus(err error) error {
	if _, ok := status.FromError(err); ok || err == nil {
		return err
	}
	if errors.Is(err, transport.ErrUnimplemented) {
		return status.Error(codes.Unimplemented, err.Error())
	}
	return status.Error(codes.Unavailable, err.Error())
}

// served is a stream of a server. An Empty keeps all fields of a message as unknown ones.
type served struct{ grpc.ServerStream }

// Send implements [transport.Stream].
func (s served) Send(msg []byte) error {
	m := new(emptypb.Empty)
	if err := proto.Unmarshal(msg, m); err != nil {
		return err
	}
	return s.SendMsg(m)
}

// Receive implements [transport.Stream].
func (s served) Receive() ([]byte, error) {
	m := new(emptypb.Empty)
	if err := s.RecvMsg(m); err != nil {
		return nil, err
	}
	return m.ProtoReflect().GetUnknown(), nil
}

// A Proxy passes streams on to a control plane.
type Proxy struct {
	Upstream transport.Conn

	running sync.WaitGroup
}

// Wait waits for the goroutines of the proxy, after Serve.
func (p *Proxy) Wait() { p.running.Wait() }

// Handle passes a stream on until one of its ends closes it. It is a handler of Serve.
func (p *Proxy) Handle(ctx context.Context, method string, downstream transport.Stream) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	up, err := p.Upstream.OpenStream(ctx, method)
	if err != nil {
		return fmt.Errorf("the control plane: %w", err)
	}
	p.running.Go(func() {
		defer cancel()
		for {
			msg, err := downstream.Receive() // ends at the latest when Handle returns
			if err != nil || up.Send(slices.Clone(msg)) != nil {
				return
			}
		}
	})
	for {
		msg, err := up.Receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := downstream.Send(msg); err != nil {
			return err
		}
	}
}
