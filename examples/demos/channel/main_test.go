package main

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/xdsforge/xdsforge/examples/demos/story/storytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheStoryIsSeenToItsEnd(t *testing.T) {
	storytest.Play(t, run, timeout, "2000 calls: ", "stable-2 answers", "stable-1 is back", "calls fail: ", "answered again", "east.example received reports of", "west.example received reports of")
}

func TestTheStoryEndsWithItsTime(t *testing.T) { storytest.PlayLate(t, run) }
