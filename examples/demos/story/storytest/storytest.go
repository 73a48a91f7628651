// Package storytest tests the stories.
package storytest

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"
)

// end is the last line of each story.
const end = "Everything was seen"

// Play runs a story and returns its output. The test fails if the story fails or if the output lacks one of
// the texts.
func Play(t *testing.T, run func(context.Context, io.Writer) error, timeout time.Duration, want ...string) (output string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	var out strings.Builder
	if err := run(ctx, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, text := range append(want, end) {
		if !strings.Contains(out.String(), text) {
			t.Errorf("the story lacks %q", text)
		}
	}
	return out.String()
}

// PlayLate runs a story whose time is over. It must fail.
func PlayLate(t *testing.T, run func(context.Context, io.Writer) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out strings.Builder
	if err := run(ctx, &out); err == nil || strings.Contains(out.String(), end) {
		t.Errorf("error = %v; want an error, because the time is over", err)
	}
}
