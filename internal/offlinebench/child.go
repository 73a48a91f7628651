package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/lkg"
	"github.com/xdsforge/xdsforge/grpcxds"
	"github.com/xdsforge/xdsforge/internal/process"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// A start has the times since the call of NewEnv, apart from the processor time of the process.
type start struct{ Env, Call, All, CPU time.Duration }

// A use has the processor time of a process under churn, after all resources had arrived.
type use struct{ CPU time.Duration }

// measure runs a child and reads its result.
func measure(ctx context.Context, role, addr, dir string, churn time.Duration, result any) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, "-role", role, "-addr", addr, "-dir", dir, //nolint:gosec // this program
		"-resources", fmt.Sprint(*resources), "-churn", churn.String())
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	return json.Unmarshal(out, result)
}

// child opens an Env, calls a server and watches all resources.
func child() error {
	config, err := bootstrap.Parse(fmt.Appendf(nil, `{"node": {"id": "bench"}, "xds_servers": [
		{"server_uri": %q, "channel_creds": [{"type": "insecure"}], "server_features": ["xds.transport.delta"]}]}`, *addr))
	if err != nil {
		return err
	}
	opts := []xdsforge.Option{xdsforge.WithTypes(grpcxds.Register), xdsforge.WithBootstrap(config)}
	if *dir != "" {
		opts = append(opts, xdsforge.WithLastKnownGood(lkg.Options{Dir: *dir}))
	}
	var s start
	began := time.Now()
	env, err := xdsforge.NewEnv(opts...)
	if err != nil {
		return err
	}
	defer func() { _ = env.Close() }()
	s.Env = time.Since(began)
	conn, err := grpcxds.Dialer{Env: env}.NewClient("xds:///shop", grpcxds.WithCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.Invoke(context.Background(), "/shop/Name", new(emptypb.Empty), new(emptypb.Empty)); err != nil {
		return err
	}
	s.Call = time.Since(began)
	client, err := env.NewClient()
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	if err := watchAll(client); err != nil {
		return err
	}
	s.All, s.CPU = time.Since(began), process.CPU()
	if *role != "churn" {
		return json.NewEncoder(os.Stdout).Encode(s)
	}
	before := process.CPU()
	<-time.NewTimer(time.Until(began.Add(*churn))).C
	return json.NewEncoder(os.Stdout).Encode(use{process.CPU() - before})
}

// watchAll watches all resources and waits until each has arrived.
func watchAll(client *xdsforge.Client) error {
	var all sync.WaitGroup
	for i := range *resources / 2 {
		name := fmt.Sprint("c-", i)
		all.Add(2)
		var first, second sync.Once
		if _, err := cluster.Subscribe(client, name, func(ev cluster.Event) {
			if ev.Update != nil {
				first.Do(all.Done)
			}
		}); err != nil {
			return err
		}
		if _, err := endpoint.Subscribe(client, name, func(ev endpoint.Event) {
			if ev.Update != nil {
				second.Do(all.Done)
			}
		}); err != nil {
			return err
		}
	}
	all.Wait()
	return nil
}

// A backend answers calls.
type backend struct {
	port   int
	server *grpc.Server
}

func startBackend(ctx context.Context) (*backend, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &backend{port: l.Addr().(*net.TCPAddr).Port, server: grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error {
		if err := s.RecvMsg(new(emptypb.Empty)); err != nil {
			return err
		}
		return s.SendMsg(new(emptypb.Empty))
	}))}
	go func() { _ = b.server.Serve(l) }() // it ends with Stop
	return b, nil
}
