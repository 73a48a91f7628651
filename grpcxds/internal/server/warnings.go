package server

import (
	"log/slog"
	"net"
)

// warnings implements the configuration error logging of A36. It warns at every update that makes calls fail, and
// once when that ends.
type warnings struct{ failing bool }

// maxProblems is the number of problems that a warning lists.
const maxProblems = 10

func (w *warnings) log(l *slog.Logger, addr net.Addr, problems []string) {
	switch n := len(problems); {
	case n > 0:
		l.Warn("calls are bound to fail by the configuration", "addr", addr, "count", n,
			"problems", problems[:min(n, maxProblems)])
	case w.failing:
		l.Warn("calls are not bound to fail by the configuration any more", "addr", addr)
	}
	w.failing = len(problems) > 0
}
