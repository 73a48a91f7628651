package httpxds_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os/signal"
	"syscall"
	"time"

	"github.com/xdsforge/xdsforge/httpxds"
)

// A server of two sockets, until the program gets a signal. The environment variables name the bootstrap.
func ExampleNewServer() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintln(w, "order", r.PathValue("id")) // the client may have gone
	})
	server, err := httpxds.NewServer(mux, httpxds.OnMode(func(addr net.Addr, err error) {
		slog.Info("mode", "addr", addr, "serving", err == nil)
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	for _, addr := range []string{"127.0.0.1:8080", "127.0.0.1:8443"} {
		lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
		if err != nil {
			fmt.Println(errors.Join(err, server.Close()))
			return
		}
		go func() {
			if err := server.Serve(lis); err != nil {
				slog.Error("serve", "addr", addr, "error", err)
			}
		}()
	}
	<-ctx.Done()
	end, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := server.Shutdown(end); err != nil {
		_ = server.Close()
	}
}
