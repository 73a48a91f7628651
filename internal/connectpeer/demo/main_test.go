package main

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/xdsforge/xdsforge/examples/demos/story/storytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheStoryIsSeenToItsEnd(t *testing.T) {
	storytest.Play(t, run, timeout, "the canary has", "/new/shoes", "after one attempt with the code unavailable", "the route retries",
		"only root may use /admin", "the spent tokens stay spent", "POST requests is lost", "with its last configuration", "Serve has returned")
}

func TestTheStoryEndsWithItsTime(t *testing.T) { storytest.PlayLate(t, run) }
