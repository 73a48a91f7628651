package main

import (
	"context"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheStoryIsSeenToItsEnd(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	var out strings.Builder
	if err := run(ctx, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{
		"/server/127.0.0.1:",
		"without a byte",
		"code = PermissionDenied",
		"the second certificate, and not the first",
		"continued on the old connection",
		"Everything was seen",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the story lacks %q", want)
		}
	}
}

func TestTheStoryEndsWithItsTime(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out strings.Builder
	if err := run(ctx, &out); err == nil || strings.Contains(out.String(), "Everything was seen") {
		t.Errorf("error = %v; want an error, because the time is over", err)
	}
}
