package main

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/xdsforge/xdsforge/examples/demos/story/storytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheStoryIsSeenToItsEnd(t *testing.T) {
	storytest.Play(t, run, timeout, "400 calls stayed on theirs", "old ones stay on server one", "no old one moved", "and stay there")
}

func TestTheStoryEndsWithItsTime(t *testing.T) { storytest.PlayLate(t, run) }
