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
		"→ " + checkoutListener,
		"connections: 1 to A, 1 to B: 2 in all",
		"u.Localities[0].Endpoints[2]",
		"lb_policy = MAGLEV",
		"the error is ambient",
		"the watch has failed",
		"Everything was seen",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the story lacks %q", want)
		}
	}
	if strings.Contains(out.String(), "\x1b[") {
		t.Error("the output has colour although it is not a terminal")
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
