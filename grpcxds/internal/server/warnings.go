package server

import (
	"log/slog"
	"net"
)

// warnings is A36's configuration error logging: a warning at every update in which calls
// are bound to fail, and one when that is over.
type warnings struct{ failing bool }

// maxProblems is how many problems a warning spells out.
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
