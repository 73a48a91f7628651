package client_test

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// A reader of the log alone can tell what happened: no state change is missing, and none is logged twice.
func TestLogTellsTheStory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		handler := slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			switch a.Key {
			case slog.LevelKey, slog.MessageKey, "resources", "name":
				return a
			}
			return slog.Attr{}
		}})
		c, s := newThingsWith(t, nil, withLogger(slog.New(handler)))
		s.Set(things.URL(), thing("a", "1"))
		f := follow(t.Context(), t, c, things, "a")
		f.value("1")
		follow(t.Context(), t, c, things, "missing")
		pass(18 * time.Second)
		s.Delete(things.URL(), "a")
		pass(time.Second)
		s.Set(things.URL(), thing("b", "1")) // a is still missing
		pass(time.Second)
		s.Set(things.URL(), thing("a", "2"))
		f.ambient(resource.ErrRemoved)
		f.value("2")
		s.Refuse(errors.New("no"))
		s.Disconnect(errors.New("cut"))
		pass(time.Minute)
		s.Refuse(nil)
		pass(3 * time.Minute)
		var got []string
		for line := range strings.Lines(text.String()) {
			if !strings.Contains(line, "still unreachable") {
				got = append(got, strings.TrimSpace(line))
			}
		}
		want := []string{
			`level=INFO msg="control plane connected"`,
			`level=DEBUG msg="resources subscribed" resources=1 name=a`,
			`level=DEBUG msg="resources accepted" resources=1`,
			`level=DEBUG msg="resources subscribed" resources=2 name=a`,
			`level=DEBUG msg="resources requested again" resources=1`,
			`level=WARN msg="resources do not exist" resources=1 name=missing`,
			`level=INFO msg="resources missing" resources=1 name=a`,
			`level=DEBUG msg="resources accepted" resources=1`,
			`level=INFO msg="stream ended"`,
			`level=WARN msg="control plane unreachable"`,
			`level=DEBUG msg="resources subscribed" resources=2 name=a`,
			`level=DEBUG msg="resources accepted" resources=1`,
			`level=INFO msg="control plane reachable again"`,
		}
		if !slices.Equal(got, want) {
			t.Errorf("the log is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}
