package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"runtime"
	"time"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/grpcxds"
	"github.com/xdsforge/xdsforge/internal/controlplane"
	"github.com/xdsforge/xdsforge/internal/process"
)

// many is the number of targets that lead to the cluster "c".
const many = 1000

// channels prints the cost of as many channels, each with a target of its own. Each kind of
// channel has a process of its own.
func channels(ctx context.Context, n int, check bool) error {
	if n > many {
		return fmt.Errorf("-channels = %d; must be at most %d", n, many)
	}
	s, err := startServer(ctx)
	if err != nil {
		return err
	}
	defer s.Stop()
	var before [2]int
	var missed error
	for _, name := range []string{theirsName, oursName} {
		env := []string{bootstrap.EnvFile + "=", fmt.Sprintf(
			`%s={"node": {"id": "bench"}, "xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}]}`, bootstrap.EnvContent, s.Plane)}
		err := process.Run(ctx, env, "-open", name, "-channels", fmt.Sprint(n), "-backend", s.Backend, fmt.Sprintf("-check=%t", check))
		if exit := new(exec.ExitError); errors.As(err, &exit) && check { // the process has printed why
			missed = process.ErrMissed
		} else if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		var counts [2]int
		if err := s.Call("Count", nil, &counts); err != nil {
			return err
		}
		fmt.Printf("%-14s control plane: %d connections, %d streams\n", name, counts[0]-before[0], counts[1]-before[1])
		if name == oursName {
			missed = errors.Join(missed, judge("connections of all channels", float64(counts[0]-before[0]), "", 1))
		}
		before = counts
	}
	return missed
}

// Bounds of a connected channel, one of many in a process.
const channelHeap, channelGoroutines = 90, 7

// settleTime is how long a client without work may keep goroutines for more work.
const settleTime = 3 * time.Second

// open makes channels of one kind and a call on each, and prints the cost.
func open(ctx context.Context, name string, n int) error {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	slog.SetLogLoggerLevel(slog.LevelWarn) // each channel would log its connection
	newClient := grpcxds.NewClient
	if name == theirsName {
		newClient = grpc.NewClient // package xds has registered the scheme
	}
	goroutines, heap := resources()
	start, used := time.Now(), process.CPU()
	all := make([]*grpc.ClientConn, 0, n)
	defer func() {
		for _, cc := range all {
			_ = cc.Close()
		}
	}()
	for i := range n {
		cc, err := newClient(fmt.Sprintf("xds:///many-%d", i), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return err
		}
		all = append(all, cc)
	}
	idle, idleHeap := resources()
	errs := make(chan error, n)
	for _, cc := range all {
		go func() {
			_, err := testpb.NewTestServiceClient(cc).EmptyCall(ctx, &testpb.Empty{}, grpc.WaitForReady(true))
			errs <- err
		}()
	}
	for range n {
		if err := <-errs; err != nil {
			return err
		}
	}
	took, cpu := time.Since(start), process.CPU()-used
	settled, cancel := context.WithTimeout(ctx, settleTime)
	<-settled.Done()
	cancel()
	busy, busyHeap := resources()
	fmt.Printf("%-14s %d channels: %d goroutines idle, %d connected; %.1f MB live idle, %.1f MB connected; all called after %v, %v of CPU\n", name, n,
		idle-goroutines, busy-goroutines, (idleHeap-heap)/1e6, (busyHeap-heap)/1e6, took.Round(time.Millisecond), cpu.Round(time.Millisecond))
	if name != oursName {
		return nil
	}
	return errors.Join(
		judge("live heap of a channel", (busyHeap-heap)/float64(n)/1000, " kB", channelHeap),
		judge("goroutines of a channel", float64(busy-goroutines)/float64(n), "", channelGoroutines),
	)
}

// resources are the goroutines and the live heap of the process.
func resources() (goroutines int, heap float64) {
	m := process.Memory()
	return runtime.NumGoroutine(), float64(m.HeapAlloc)
}

// multiply adds the targets for many channels.
func multiply(plane *controlplane.Server) error {
	all := make(map[string]proto.Message, many)
	for i := range many {
		name, l := fmt.Sprintf("many-%d", i), new(listenerv3.Listener)
		if err := controlplane.Parse(l, `name: %q api_listener { api_listener {
			[type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] {
				http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } }
				route_config { virtual_hosts { domains: "*" routes { match { prefix: "" } route { cluster: "c" } } } } } } }`, name); err != nil {
			return err
		}
		all[name] = l
	}
	return plane.Update(all)
}
