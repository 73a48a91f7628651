package main

import (
	"context"
	"net"
	"strconv"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// whoMethod returns the name of the backend. otherMethod does the same.
const (
	whoMethod   = "/xdsforge.Peer/Who"
	otherMethod = "/xdsforge.Peer/Other"
)

// The keys of metadata with which a caller lets the first attempts of a call fail.
const (
	callKey     = "x-call"
	failuresKey = "x-failures"
)

// A backend is a gRPC server that answers with its name.
type backend struct {
	name string

	mu       sync.Mutex
	attempts map[string]int // of calls that must fail
	server   *grpc.Server
}

func newBackend(name string) *backend { return &backend{name: name, attempts: make(map[string]int)} }

// register registers the service.
func (b *backend) register(r grpc.ServiceRegistrar) {
	answer := func(method string) grpc.MethodHandler {
		return func(_ any, ctx context.Context, dec func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
			in := new(emptypb.Empty)
			if err := dec(in); err != nil {
				return nil, err
			}
			handler := func(ctx context.Context, _ any) (any, error) { return b.who(ctx) }
			if intercept == nil {
				return handler(ctx, in)
			}
			return intercept(ctx, in, &grpc.UnaryServerInfo{Server: b, FullMethod: method}, handler)
		}
	}
	r.RegisterService(&grpc.ServiceDesc{ServiceName: "xdsforge.Peer", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{
		{MethodName: "Who", Handler: answer(whoMethod)}, {MethodName: "Other", Handler: answer(otherMethod)},
	}}, b)
}

func (b *backend) who(ctx context.Context) (*wrapperspb.StringValue, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	if call := md.Get(callKey); len(call) == 1 && len(md.Get(failuresKey)) == 1 {
		failures, err := strconv.Atoi(md.Get(failuresKey)[0])
		if err != nil {
			return nil, status.Error(codes.InvalidArgument, err.Error())
		}
		b.mu.Lock()
		b.attempts[call[0]]++
		n := b.attempts[call[0]]
		b.mu.Unlock()
		if n <= failures {
			return nil, status.Errorf(codes.Unavailable, "attempt %d of %s", n, call[0])
		}
	}
	return wrapperspb.String(b.name), nil
}

// start serves on an address, and returns the one that it listens on.
func (b *backend) start(ctx context.Context, addr string) (string, error) {
	lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	b.server = grpc.NewServer()
	b.register(b.server)
	server := b.server
	go func() { _ = server.Serve(lis) }() // it ends with stop
	return lis.Addr().String(), nil
}

// stop ends the server after its calls.
func (b *backend) stop() {
	if b.server != nil {
		b.server.GracefulStop()
	}
}
