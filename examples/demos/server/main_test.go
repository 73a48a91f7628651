package main

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/xdsforge/xdsforge/examples/demos/story/storytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheStoryIsSeenToItsEnd(t *testing.T) {
	storytest.Play(t, run, timeout, "/server/127.0.0.1:", "without a byte", "code = PermissionDenied", "the second certificate, and not the first", "continued on the old connection")
}

func TestTheStoryEndsWithItsTime(t *testing.T) { storytest.PlayLate(t, run) }
