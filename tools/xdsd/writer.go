package xdsd

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
)

// A syncWriter writes whole lines of several goroutines.
type syncWriter struct {
	mu sync.Mutex
	w  io.Writer
}

// Write implements [io.Writer].
func (w *syncWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.w.Write(p)
}

// A lines is a log handler for people: a record is one line. It leaves out rejected files and states of sources, which
// the command prints itself.
type lines struct {
	slog.Handler
	app *app
}

func (a *app) logger() *slog.Logger { return slog.New(&lines{slog.DiscardHandler, a}) }

// Enabled implements [slog.Handler].
func (l *lines) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

// Handle implements [slog.Handler].
func (l *lines) Handle(_ context.Context, r slog.Record) error {
	switch r.Message {
	case "file rejected", "a source of resources is not live", "a source of resources is live again":
		return nil
	}
	var b strings.Builder
	b.WriteString(r.Message)
	r.Attrs(func(at slog.Attr) bool {
		b.WriteString(", " + at.Key + "=" + at.Value.String())
		return true
	})
	l.app.print("%s", b.String())
	return nil
}

// WithAttrs implements [slog.Handler].
func (l *lines) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup implements [slog.Handler].
func (l *lines) WithGroup(string) slog.Handler { return l }
