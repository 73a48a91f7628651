package server

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// denied is the error of a policy.
type denied struct{ error }

func (denied) DeniedBy() string { return "admins\nonly" }

// A denied call is logged at Debug with its policy, and other errors are not.
func TestDenialsAreLogged(t *testing.T) {
	for level, want := range map[slog.Level]string{
		slog.LevelDebug: `level=DEBUG msg="RBAC denied a call" method=/p.S/M policy=admins\nonly`, slog.LevelInfo: "",
	} {
		var text strings.Builder
		s := &chainServer{logger: slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: level}))}
		s.logDenial(t.Context(), "/p.S/M", errors.New("another error"))
		s.logDenial(t.Context(), "/p.S/M", fmt.Errorf("a filter: %w", denied{errors.New("denied")}))
		_, got, _ := strings.Cut(strings.TrimSpace(text.String()), " ")
		if got != want {
			t.Errorf("at %v the log is %s, want %s", level, got, want)
		}
	}
}
