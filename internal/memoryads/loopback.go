package memoryads

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// Listen serves gRPC clients in any language on a free port of 127.0.0.1 until stop is called.
func (s *Server) Listen() (addr string, stop func(), err error) {
	lis, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("memoryads: %w", err)
	}
	var running sync.WaitGroup
	g := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, ss grpc.ServerStream) error {
		return asStatus(s.relay(ss, &running))
	}))
	running.Go(func() { _ = g.Serve(lis) }) // ends with stop
	return lis.Addr().String(), func() {
		g.Stop()
		running.Wait()
	}, nil
}

// relay connects a gRPC stream with a stream of the server until one of them ends. It passes on
// encoded messages: an Empty keeps all fields as unknown ones.
func (s *Server) relay(ss grpc.ServerStream, running *sync.WaitGroup) error {
	ctx, cancel := context.WithCancel(ss.Context())
	defer cancel()
	method, _ := grpc.MethodFromServerStream(ss)
	st, err := (&conn{server: s}).OpenStream(ctx, method)
	if err != nil {
		return err
	}
	running.Go(func() {
		defer cancel()
		for m := new(emptypb.Empty); ss.RecvMsg(m) == nil; { // RecvMsg empties m first
			if st.Send(m.ProtoReflect().GetUnknown()) != nil {
				return
			}
		}
	})
	for {
		raw, err := st.Receive()
		if err != nil {
			return err
		}
		m := new(emptypb.Empty)
		if err := errors.Join(proto.Unmarshal(raw, m), ss.SendMsg(m)); err != nil {
			return err
		}
	}
}

// asStatus returns the gRPC status for the end of a stream: Unavailable for a plain error.
func asStatus(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	return status.Error(codes.Unavailable, err.Error())
}
