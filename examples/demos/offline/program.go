package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/lkg"
	"github.com/xdsforge/xdsforge/grpcxds"
	"github.com/xdsforge/xdsforge/plugins/cluster"
)

// programDir is the environment variable with the directory of the program's store. GRPC_XDS_BOOTSTRAP_CONFIG
// has its bootstrap.
const programDir = "OFFLINE_STORE"

// A state is a line that the program prints after each call.
type state struct {
	Calls    int    `json:"calls"`
	Failed   int    `json:"failed"`
	Error    string `json:"error,omitempty"`   // of the last failed call
	Answer   string `json:"answer"`            // the name of the server of the last call
	Origin   string `json:"origin"`            // of the cluster, as the typed client sees it
	Ambient  string `json:"ambient,omitempty"` // likewise
	Unusable int    `json:"unusable"`          // events without a cluster
}

// program is a program with a channel and a typed client. It calls a server again and again until its
// input ends.
func program() {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	if err := work(ctx, os.Getenv(programDir)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// work is all that a program needs. The bootstrap comes from the environment.
func work(ctx context.Context, dir string) error {
	env, err := xdsforge.NewEnv(
		xdsforge.WithTypes(grpcxds.Register),
		xdsforge.WithLastKnownGood(lkg.Options{Dir: dir, Quiet: 200 * time.Millisecond}),
	)
	if err != nil {
		return err
	}
	defer func() { _ = env.Close() }()
	conn, err := grpcxds.Dialer{Env: env}.NewClient("xds:///shop", grpcxds.WithCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	client, err := env.NewClient()
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	w := &worker{conn: conn}
	stop, err := cluster.Subscribe(client, "shop", w.event)
	if err != nil {
		return err
	}
	defer stop()
	return w.call(ctx)
}

// A worker calls a server and prints its state.
type worker struct {
	conn *grpc.ClientConn

	mu    sync.Mutex
	state state
}

func (w *worker) event(ev cluster.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ev.Update == nil {
		w.state.Unusable++
	}
	w.state.Origin, w.state.Ambient = ev.Origin.String(), ""
	if ev.Ambient != nil {
		w.state.Ambient = ev.Ambient.Error()
	}
}

// call calls the server every 10 ms until ctx is done.
func (w *worker) call(ctx context.Context) error {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	out := json.NewEncoder(os.Stdout)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		answer := new(wrapperspb.StringValue)
		err := w.conn.Invoke(ctx, "/shop/Name", new(emptypb.Empty), answer)
		if ctx.Err() != nil {
			return nil
		}
		w.mu.Lock()
		w.state.Calls++
		w.state.Answer = answer.GetValue()
		if err != nil {
			w.state.Failed++
			w.state.Error = err.Error()
		}
		err = out.Encode(w.state)
		w.mu.Unlock()
		if err != nil {
			return err
		}
	}
}
