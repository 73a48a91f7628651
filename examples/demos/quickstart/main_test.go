package main

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/xdsforge/xdsforge/examples/demos/story/storytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheStoryIsSeenToItsEnd(t *testing.T) {
	out := storytest.Play(t, run, timeout, "→ "+checkoutListener, "connections: 1 to A, 1 to B: 2 in all", "u.Localities[0].Endpoints[2]", "lb_policy = MAGLEV", "the error is ambient", "the watch has failed")
	if strings.Contains(out, "\x1b[") {
		t.Error("the output has colour although it is not a terminal")
	}
}

func TestTheStoryEndsWithItsTime(t *testing.T) { storytest.PlayLate(t, run) }
