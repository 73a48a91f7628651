package server

import (
	"log/slog"
	"net"
	"sync"

	"github.com/xdsforge/xdsforge/internal/printable"
)

// Reporter returns a [Config.Report] that logs each change of a mode, and then passes it to next. A nil next gets none.
func Reporter(l *slog.Logger, next func(net.Addr, error)) func(net.Addr, error) {
	log := logModes(l)
	if next == nil {
		return log
	}
	return func(addr net.Addr, err error) {
		log(addr, err)
		next(addr, err)
	}
}

// logModes logs each reason not to serve, and when the server serves.
func logModes(l *slog.Logger) func(net.Addr, error) {
	var mu sync.Mutex
	failed := make(map[string]bool)
	return func(addr net.Addr, err error) {
		mu.Lock()
		before := failed[addr.String()]
		failed[addr.String()] = err != nil
		mu.Unlock()
		switch {
		case err != nil:
			l.Warn("xDS server is not serving", "addr", addr, "error", printable.Error(err))
		case before:
			l.Info("xDS server is serving again", "addr", addr)
		default:
			l.Info("xDS server is serving", "addr", addr)
		}
	}
}
