package xdsctl

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/output"
	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/world"
)

func processes(states ...string) []world.Process {
	p := world.Process{Address: "a", Scope: "s"}
	for i, s := range states {
		p.Entries = append(p.Entries, &world.Entry{Scope: "s", Where: "a", Type: "envoy.config.cluster.v3.Cluster", Name: strings.Repeat("c", i+1), State: s})
	}
	return []world.Process{p}
}

// On a terminal, only the lines that changed are written again, and a long table is cut.
func TestRedraw(t *testing.T) {
	var b bytes.Buffer
	s := newScreen(&output.Printer{W: &b, Format: output.Table, Terminal: true})
	now := time.Unix(1000, 0)
	s.show(new(statusFlags), processes(world.Acked, world.Requested, world.Acked), nil, now)
	if got := b.String(); !strings.HasPrefix(got, "\x1b[2J\x1b[1;1H") || strings.Count(got, "\x1b[K") != 5 {
		t.Errorf("first frame = %q; want all 5 lines on a clear screen", got)
	}
	b.Reset()
	s.show(new(statusFlags), processes(world.Acked, world.Acked, world.Acked), nil, now)
	if got := b.String(); strings.Contains(got, "\x1b[2;1H") || !strings.Contains(got, "\x1b[3;1H") || strings.Contains(got, "\x1b[2J") {
		t.Errorf("second frame = %q; want the line of the change, and not the one above", got)
	}
	b.Reset()
	s.show(new(statusFlags), processes(world.Acked), errors.New("lost\x1b[2J"), now)
	if got := b.String(); !strings.Contains(got, `lost\x1b[2J`) || !strings.HasSuffix(got, "\x1b[5;1H\x1b[J") {
		t.Errorf("third frame = %q; want the escaped error, and nothing below", got)
	}
	b.Reset()
	s.p.Height = 3
	s.show(new(statusFlags), processes(world.Acked, world.Acked, world.Acked), nil, now)
	if got := b.String(); !strings.Contains(got, "3 more lines") || strings.Contains(got, "\x1b[4;1H"+"x") {
		t.Errorf("a frame of 3 lines = %q; want the number of further lines", got)
	}
}

// Elsewhere, each change is a line, also as JSON.
func TestChanges(t *testing.T) {
	for _, format := range []output.Format{output.Table, output.JSON} {
		var b bytes.Buffer
		s := newScreen(&output.Printer{W: &b, Format: format})
		now := time.Unix(1000, 0)
		var lines []string
		for _, list := range [][]world.Process{
			processes(world.Acked, world.Acked), processes(world.Acked, world.Nacked), processes(world.Acked, world.Nacked), processes(world.Acked),
		} {
			b.Reset()
			s.show(new(statusFlags), list, nil, now)
			lines = append(lines, b.String())
		}
		marks := []string{"+", "~", "", "-"}
		for i, mark := range marks {
			want := map[string]int{"+": 2, "~": 1, "": 0, "-": 1}[mark]
			text := " " + mark + " "
			if format == output.JSON {
				text = `"change":"` + mark + `"`
			}
			if got := strings.Count(lines[i], text); mark != "" && got != want || mark == "" && lines[i] != "" {
				t.Errorf("%s: step %d = %q; want %d changes %q", format, i, lines[i], want, mark)
			}
		}
		b.Reset()
		s.show(new(statusFlags), nil, errors.New("lost"), now)
		s.show(new(statusFlags), nil, errors.New("lost"), now)
		if strings.Count(b.String(), "lost") != 1 {
			t.Errorf("%s: an error that lasts = %q; want it once", format, b.String())
		}
	}
}

func TestAge(t *testing.T) {
	now := time.Unix(1e9, 0)
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 59 * time.Second: "59s", 61 * time.Second: "1m1s", 25 * time.Hour: "1d1h", 3*time.Hour + 2*time.Minute: "3h2m",
	} {
		if got := age(now.Add(-d), now); got != want {
			t.Errorf("age(%s) = %s; want %s", d, got, want)
		}
	}
	if got := age(time.Time{}, now); got != "" {
		t.Errorf("age of no time = %s", got)
	}
}
