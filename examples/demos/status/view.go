package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/adminxds"
	"github.com/xdsforge/xdsforge/framework/status"
	"github.com/xdsforge/xdsforge/framework/status/dataplane"
)

// An admin serves the admin services of the environment on loopback, and reads CSDS over the network.
type admin struct {
	addr   string
	server *grpc.Server
	conn   *grpc.ClientConn
}

func newAdmin(ctx context.Context, env *xdsforge.Env) (*admin, error) {
	lis, addr, err := listen(ctx)
	if err != nil {
		return nil, err
	}
	a := &admin{addr: addr.String(), server: grpc.NewServer()}
	if err := adminxds.Register(a.server, env); err != nil {
		return nil, err
	}
	go func() { _ = a.server.Serve(lis) }() // it ends with close
	a.conn, err = grpc.NewClient("passthrough:///"+a.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	return a, err
}

func (a *admin) close() error {
	a.server.Stop()
	return a.conn.Close()
}

// A logbook keeps log lines. It is a slog.Handler.
type logbook struct {
	mu    sync.Mutex
	lines []logLine
}

// A logLine is a line of the log.
type logLine struct {
	message string
	attrs   map[string]slog.Value
	text    string
}

// Enabled implements [slog.Handler].
func (*logbook) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements [slog.Handler].
func (b *logbook) Handle(_ context.Context, r slog.Record) error {
	l := logLine{message: r.Message, attrs: make(map[string]slog.Value), text: r.Level.String() + " " + r.Message}
	r.Attrs(func(a slog.Attr) bool {
		l.attrs[a.Key] = a.Value
		l.text += fmt.Sprintf(" %s=%q", a.Key, a.Value)
		return true
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, l)
	return nil
}

// WithAttrs implements [slog.Handler]. The libraries of this program add no attributes.
func (b *logbook) WithAttrs([]slog.Attr) slog.Handler { return b }

// WithGroup implements [slog.Handler].
func (b *logbook) WithGroup(string) slog.Handler { return b }

// A view is the state at one time, from all sources.
type view struct {
	csds      []*statusv3.ClientConfig
	snapshots []status.Snapshot
	targets   []dataplane.Target
	metrics   []string // "name{label=value,…} value"
	log       []logLine
}

// look reads all sources.
func (s *stage) look(ctx context.Context) (v view, err error) {
	answer, err := statusv3.NewClientStatusDiscoveryServiceClient(s.admin.conn).FetchClientStatus(ctx, new(statusv3.ClientStatusRequest))
	if err != nil {
		return v, err
	}
	v.csds = answer.GetConfig()
	if v.snapshots, err = s.env.Snapshots(ctx); err != nil {
		return v, err
	}
	if v.targets, err = s.env.Targets(ctx); err != nil {
		return v, err
	}
	if v.metrics, err = metricLines(ctx, s.metrics); err != nil {
		return v, err
	}
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	v.log = slices.Clone(s.log.lines)
	return v, nil
}
