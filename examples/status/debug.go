package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"time"
)

// serveDebug serves the state over HTTP until the program is interrupted. The address must be on loopback: the state
// has addresses and configurations.
func (s *stage) serveDebug(ctx context.Context, address string) error {
	addr, err := netip.ParseAddrPort(address)
	if err != nil || !addr.Addr().IsLoopback() {
		return fmt.Errorf("-debug = %q; must be an address on loopback, such as 127.0.0.1:8080", address)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: s.debug(), ReadHeaderTimeout: time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	s.Line("http://%s/debug/xds.json has the state; %s serves CSDS, channelz and health. Interrupt to end.", lis.Addr(), s.admin.addr)
	if err := server.Serve(lis); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// debug returns the handler of the pages under /debug/.
func (s *stage) debug() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/xds.json", func(w http.ResponseWriter, r *http.Request) {
		v, err := s.look(r.Context())
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"clients": v.snapshots, "targets": v.targets, "servers": s.env.Servers()})
	})
	return mux
}
