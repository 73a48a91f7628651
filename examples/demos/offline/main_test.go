package main

import (
	"context"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(programDir) != "" {
		program()
		return
	}
	goleak.VerifyTestMain(m)
}

func TestTheStoryIsSeenToItsEnd(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	var out strings.Builder
	if err := run(ctx, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{
		"start from shop.yaml", "with all resources", "Calls go on", `origin "stored"`, "green answers", "calls failed", "Everything was seen",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the story lacks %q", want)
		}
	}
}

func TestTheStoryEndsWithItsTime(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out strings.Builder
	if err := run(ctx, &out); err == nil || strings.Contains(out.String(), "Everything was seen") {
		t.Errorf("error = %v; want an error, because the time is over", err)
	}
}
