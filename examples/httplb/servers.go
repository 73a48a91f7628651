package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"
)

// servers are real HTTP servers on loopback, by name.
type servers map[string]*server

type server struct {
	http     http.Server
	address  netip.AddrPort
	answered atomic.Uint64
	served   chan struct{}
}

func startServers(names ...string) (servers, error) {
	all := make(servers)
	for _, name := range names {
		s, err := startServer(name)
		if err != nil {
			all.stop()
			return nil, err
		}
		all[name] = s
	}
	return all, nil
}

func startServer(name string) (*server, error) {
	lis, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{served: make(chan struct{})}
	s.address, err = netip.ParseAddrPort(lis.Addr().String())
	if err != nil {
		return nil, err
	}
	s.http.ReadHeaderTimeout = time.Minute
	s.http.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.answered.Add(1)
		w.Header().Set("Endpoint-Load-Metrics", `JSON {"cpu_utilization": 0.5, "named_metrics": {"answers": 1, "secret": 7}}`)
		_, _ = fmt.Fprintln(w, name) // the client may have gone
	})
	go func() {
		defer close(s.served)
		_ = s.http.Serve(lis) // it ends with Close
	}()
	return s, nil
}

func (all servers) stop() {
	for _, s := range all {
		_ = s.http.Close() // nothing depends on it any longer
		<-s.served
	}
}

// addresses are those that endpoints have.
func (all servers) addresses() map[string]netip.AddrPort {
	out := make(map[string]netip.AddrPort)
	for name, s := range all {
		out[name] = s.address
	}
	return out
}

// answers is how many requests each has answered.
func (all servers) answers() map[string]uint64 {
	out := make(map[string]uint64)
	for name, s := range all {
		out[name] = s.answered.Load()
	}
	return out
}
