package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc/credentials/insecure"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/grpcxds"
	"github.com/xdsforge/xdsforge/internal/loopback"
)

// manySockets is the number of sockets of a server.
const manySockets = 8

// A socketStory is a server with many sockets. All starts use the same ports, because istiod has to know them.
type socketStory struct {
	*istiod
	ports []*loopback.Port
}

// newSockets writes a ServiceEntry whose endpoint has all ports. istiod has a Listener only for a port of a service.
func newSockets(i *istiod) (*socketStory, error) {
	s := &socketStory{istiod: i}
	var ports strings.Builder
	for range manySockets {
		p, err := loopback.Reserve()
		if err != nil {
			return nil, err
		}
		s.ports = append(s.ports, p)
		_, port, err := net.SplitHostPort(p.Addr())
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&ports, "  - {number: %[1]s, name: grpc-%[1]s, protocol: GRPC, targetPort: %[1]s}\n", port)
	}
	return s, i.write("sockets.yaml", fmt.Sprintf(`apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: sockets, namespace: default}
spec:
  hosts: [sockets%s]
  location: MESH_INTERNAL
  resolution: STATIC
  endpoints: [{address: 127.0.0.1}]
  ports:
%s`, domain, ports.String()))
}

// starts starts a server a number of times, and counts the sockets that do not serve in time.
func (s *socketStory) starts(ctx context.Context, rounds int, v variant) (string, error) {
	silent := 0
	start := time.Now()
	for range rounds {
		n, err := s.start1(ctx, v)
		if err != nil {
			return "", err
		}
		silent += n
	}
	seen := fmt.Sprintf("%d starts with %d sockets, %d do not serve, %.0f ms a start", rounds, manySockets, silent, float64(time.Since(start).Milliseconds())/float64(rounds))
	if silent > 0 {
		return "", errors.New(seen)
	}
	return seen, nil
}

// start1 starts a server once, with an Env of its own. It returns the number of sockets that do not serve.
func (s *socketStory) start1(ctx context.Context, v variant) (silent int, err error) {
	config, err := s.bootstrap(node{ip: "127.0.0.1", name: "sockets", kind: "sidecar", generator: "grpc"}, v, "")
	if err != nil {
		return 0, err
	}
	env, err := xdsforge.NewEnv(xdsforge.WithTypes(grpcxds.Register), xdsforge.WithBootstrap(config), xdsforge.WithPrivateConnections(),
		xdsforge.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return 0, err
	}
	defer env.Close()
	changes := make(chan grpcxds.ModeChange, 10*manySockets)
	server, err := grpcxds.ServerConfig{Env: env, ModeChanged: func(c grpcxds.ModeChange) { changes <- c }}.NewServer(grpcxds.Creds(insecure.NewCredentials()))
	if err != nil {
		return 0, err
	}
	defer server.Stop() //nolint:contextcheck // it ends all parts
	for _, p := range s.ports {
		lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", p.Addr())
		if err != nil {
			return 0, err
		}
		go func() { _ = server.Serve(lis) }() //nolint:contextcheck // it ends with Stop
	}
	limit := time.NewTimer(answerTimeout)
	defer limit.Stop()
	serving := make(map[string]bool)
	for len(serving) < manySockets {
		select {
		case c := <-changes:
			if c.Mode != grpcxds.Serving {
				return 0, fmt.Errorf("%v does not serve: %w", c.Addr, c.Err)
			}
			serving[c.Addr.String()] = true
		case <-limit.C:
			return manySockets - len(serving), nil
		}
	}
	return 0, nil
}
