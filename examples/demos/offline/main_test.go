package main

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/xdsforge/xdsforge/examples/demos/story/storytest"
)

func TestMain(m *testing.M) {
	if os.Getenv(programDir) != "" {
		program()
		return
	}
	goleak.VerifyTestMain(m)
}

func TestTheStoryIsSeenToItsEnd(t *testing.T) {
	storytest.Play(t, run, timeout, "start from shop.yaml", "with all resources", "Calls go on", `origin "stored"`, "green answers", "calls failed")
}

func TestTheStoryEndsWithItsTime(t *testing.T) { storytest.PlayLate(t, run) }
