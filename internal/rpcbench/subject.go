package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/xds"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/grpcxds"
	"github.com/xdsforge/xdsforge/internal/process"
)

const plainName, theirsName, oursName = "grpc-go", "grpc-go's xDS", "grpcxds"

// A subject is one of the channels.
type subject struct {
	name string
	cc   *grpc.ClientConn
}

// dial makes the three channels, two of which have the target.
func dial(at Addresses, target string) ([]*subject, error) {
	plain, err := grpc.NewClient(at.Backend, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	theirs, err := dialTheirs(at, target)
	if err != nil {
		return nil, err
	}
	ours, err := dialOurs(at, target, nil)
	if err != nil {
		return nil, err
	}
	return []*subject{{plainName, plain}, {theirsName, theirs}, {oursName, ours}}, nil
}

// bootstrapOf returns the bootstrap of both kinds of xDS.
func bootstrapOf(at Addresses) []byte {
	services := ""
	if at.Authz != "" {
		services = fmt.Sprintf(`, "allowed_grpc_services": {%q: {"channel_creds": [{"type": "insecure"}]}, %q: {"channel_creds": [{"type": "insecure"}]}}`, at.Authz, at.Proc)
	}
	return fmt.Appendf(nil, `{"node": {"id": "bench"}, "xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}]%s}`, at.Plane, services)
}

// dialTheirs makes a channel with grpc-go's own xDS.
func dialTheirs(at Addresses, target string, opts ...grpc.DialOption) (*grpc.ClientConn, error) {
	builder, err := xds.NewXDSResolverWithConfigForTesting(bootstrapOf(at))
	if err != nil {
		return nil, err
	}
	return grpc.NewClient(target, append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithResolvers(builder))...)
}

// dialOurs makes a channel with an environment of its own.
func dialOurs(at Addresses, target string, settings []xdsforge.Option, opts ...grpc.DialOption) (*grpc.ClientConn, error) {
	parsed, err := bootstrap.Parse(bootstrapOf(at))
	if err != nil {
		return nil, err
	}
	env, err := xdsforge.NewEnv(append(settings, xdsforge.WithBootstrap(parsed), xdsforge.WithTypes(grpcxds.Register))...)
	if err != nil {
		return nil, err
	}
	return grpcxds.Dialer{Env: env}.NewClient(target, append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
}

// A kind is a kind of calls.
type kind struct {
	name string
	call func(context.Context, testpb.TestServiceClient) error
}

func unary(ctx context.Context, c testpb.TestServiceClient) error {
	_, err := c.EmptyCall(ctx, &testpb.Empty{})
	return err
}

// stream is a call of one message in each direction.
func stream(ctx context.Context, c testpb.TestServiceClient) error {
	s, err := c.FullDuplexCall(ctx)
	if err != nil {
		return err
	}
	if err := s.Send(&testpb.StreamingOutputCallRequest{}); err != nil {
		return err
	}
	if _, err := s.Recv(); err != nil {
		return err
	}
	if err := s.CloseSend(); err != nil {
		return err
	}
	if _, err := s.Recv(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("the stream is still open: %w", err)
	}
	return nil
}

// take makes calls, one after the other.
func (s *subject) take(ctx context.Context, k kind, calls int) (turn, error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	c := testpb.NewTestServiceClient(s.cc)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpuBefore, start := process.CPU(), time.Now()
	for range calls {
		if err := k.call(ctx, c); err != nil {
			return turn{}, err
		}
	}
	wall, used := time.Since(start), process.CPU()-cpuBefore
	runtime.ReadMemStats(&after)
	n := float64(calls)
	return turn{
		wall: wall.Seconds() / n, cpu: used.Seconds() / n,
		allocs: float64(after.Mallocs-before.Mallocs) / n, bytes: float64(after.TotalAlloc-before.TotalAlloc) / n,
	}, nil
}
