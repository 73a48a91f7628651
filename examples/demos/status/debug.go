package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/signal"

	"github.com/xdsforge/xdsforge/internal/webguard"
	"github.com/xdsforge/xdsforge/statuspage"
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
	server := webguard.NewServer(s.debug())
	context.AfterFunc(ctx, func() { _ = server.Close() })
	s.Line("http://%s/debug/xds.json has the state, and /debug/xds/ the status page; %s serves CSDS, channelz and health. Interrupt to end.", lis.Addr(), s.admin.addr)
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
	mux.Handle("/debug/xds/", s.page())
	return mux
}

// page returns the handler of the status page.
func (s *stage) page() http.Handler { return statuspage.Config{CSDS: s.admin.addr}.Handler(s.env) }

// readPage reads the JSON of the status page. It returns an error if the page does not show all clients,
// channels and servers.
func (s *stage) readPage(ctx context.Context) error {
	v, err := s.look(ctx)
	if err != nil {
		return err
	}
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/debug/xds/", http.NoBody)
	r.Header.Set("Accept", "application/json")
	w := httptest.NewRecorder()
	s.page().ServeHTTP(w, r)
	var page struct {
		Health                    struct{ State string }
		Clients, Targets, Servers []any
	}
	if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil {
		return fmt.Errorf("JSON of the status page: %w", err)
	}
	if page.Health.State == "" || len(page.Clients) != len(v.snapshots) || len(page.Targets) != len(v.targets) || len(page.Servers) != 1 {
		return fmt.Errorf("the status page has %d clients, %d targets and %d servers; want %d, %d and 1",
			len(page.Clients), len(page.Targets), len(page.Servers), len(v.snapshots), len(v.targets))
	}
	s.Line("The status page reports %s, with %d clients, %d channels and %d server.",
		page.Health.State, len(page.Clients), len(page.Targets), len(page.Servers))
	return nil
}
